// Whom cuDNN is asked for: a card that is current, or one that is described,
// for which plans can be chosen and nothing runs.
#pragma once

#include "runtime/cuda/cudnn_descriptor.h"

namespace gradus::runtime::cuda::cudnn {

/// The descriptor goes before the handle.
struct Session : VendorSession<Library, Handle> {
  using VendorSession::VendorSession;
  Descriptor device; // of a card that is described
};

/// For the card that is current.
StatusOr<std::shared_ptr<Session>> openSession();
/// For a card as JSON describes it, which needs cuDNN 9.8 and no card.
StatusOr<std::shared_ptr<Session>> describeCard(const std::string &json);

} // namespace gradus::runtime::cuda::cudnn
