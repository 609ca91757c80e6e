// The GPU for which cuDNN is asked: the current one, or one that is only
// described, for which plans can be chosen but not run.
#pragma once

#include "runtime/cuda/libraries/cudnn_descriptor.h"

namespace gradus::runtime::cuda::cudnn {

/// A session, whose descriptor is destroyed before the handle.
struct Session : VendorSession<Library, Handle> {
  using VendorSession::VendorSession;
  Descriptor device; // of a described GPU
};

/// Creates a session for the current GPU.
StatusOr<std::shared_ptr<Session>> openSession();
/// Creates a session for a GPU described by JSON; needs cuDNN 9.8 but no GPU.
StatusOr<std::shared_ptr<Session>> describeCard(const std::string &json);

} // namespace gradus::runtime::cuda::cudnn
