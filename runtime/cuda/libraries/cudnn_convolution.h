// Convolutions and their gradients as operations of cuDNN.
#pragma once

#include "runtime/cuda/libraries/cudnn_graph.h"

namespace gradus::runtime::cuda::cudnn {

/// Builds a convolution with 1 to 3 spatial axes; a single one becomes the
/// second of two, the first having size 1. Sums are in f32 for all operand
/// types.
StatusOr<OperationGraph>
convolutionGraph(const Session &session,
                 const artifact::LibraryCommand &command);

/// Checks a command without the library; reports unsupported ones in the same
/// words.
Status checkConvolution(const artifact::LibraryCommand &command);

} // namespace gradus::runtime::cuda::cudnn
