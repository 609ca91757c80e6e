// Convolutions and their gradients as operations of cuDNN.
#pragma once

#include "runtime/cuda/cudnn_graph.h"

namespace gradus::runtime::cuda::cudnn {

/// Of 1 to 3 spatial axes; one is the second of two, of which the first has
/// size 1. Sums are of f32, whatever is multiplied.
StatusOr<OperationGraph>
convolutionGraph(const Session &session,
                 const artifact::LibraryCommand &command);

/// The same words for what cards have no convolution for, without any library.
Status checkConvolution(const artifact::LibraryCommand &command);

} // namespace gradus::runtime::cuda::cudnn
