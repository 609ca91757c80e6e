// Serves convolutions and attention by cuDNN: on a GPU or, as far as choosing
// plans goes, for one that is only described.
#pragma once

#include "runtime/cuda/libraries/cudnn_session.h"
#include "runtime/cuda/libraries/library_call.h"

namespace gradus::runtime::cuda {

/// Returns a server whose calls share the session.
std::unique_ptr<LibraryServer>
serveCudnn(std::shared_ptr<cudnn::Session> session);

} // namespace gradus::runtime::cuda
