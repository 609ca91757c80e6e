// A session for a described GPU has a descriptor instead of a handle.

#include "runtime/cuda/libraries/cudnn_session.h"

namespace gradus::runtime::cuda::cudnn {

StatusOr<std::shared_ptr<Session>> openSession() {
  return startSession<Session>();
}

StatusOr<std::shared_ptr<Session>> describeCard(const std::string &json) {
  GRADUS_ASSIGN(Library library, load());
  auto session = std::make_shared<Session>(library);
  session->device = Descriptor(session->library, Kind::deviceProperties);
  std::vector<char> text(json.begin(), json.end());
  session->device.set(Attribute::deviceJson, text);
  GRADUS_TRY(session->device.finalize("describing a card to cuDNN"));
  return session;
}

} // namespace gradus::runtime::cuda::cudnn
