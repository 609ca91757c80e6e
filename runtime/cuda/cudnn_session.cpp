// A handle goes before the library would, and descriptors before the handle.

#include "runtime/cuda/cudnn_session.h"

namespace gradus::runtime::cuda::cudnn {

Session::~Session() {
  device = Descriptor(); // before the handle
  // What a lost card says to this is known already.
  if (handle)
    library.destroy(handle);
}

std::string Session::name() const {
  return inWords("cudnn ", library.version());
}

StatusOr<std::shared_ptr<Session>> openSession() {
  Handle handle = nullptr;
  GRADUS_ASSIGN(Library library, load([&](const Library &found) {
                  return check(found, found.create(&handle), "does not start");
                }));
  auto session = std::make_shared<Session>(library);
  session->handle = handle;
  return session;
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
