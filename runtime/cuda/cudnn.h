// Convolutions and attention by cuDNN: on a card, or, as far as choosing goes,
// for one that is described.
#pragma once

#include "runtime/cuda/cudnn_session.h"
#include "runtime/cuda/library_call.h"

namespace gradus::runtime::cuda {

/// A server whose calls hold on to the session.
std::unique_ptr<LibraryServer>
serveCudnn(std::shared_ptr<cudnn::Session> session);

} // namespace gradus::runtime::cuda
