// The operations of the emulated GPU's library: plain loops over floats that
// depend on no other library.
#pragma once

#include "runtime/cuda/libraries/library_call.h"
#include "runtime/emulated/emulated_numbers.h"
#include "runtime/library_ops.h"

#include <functional>

namespace gradus::runtime::cuda {

/// Computes outputs from inputs, which are host addresses.
using EmulatedOp = std::function<void(const CallAddresses &)>;

/// Returns the operation of a verified command.
StatusOr<EmulatedOp> emulatedOp(const artifact::LibraryCommand &command);

// Create each operation from the tensors of the command.
EmulatedOp matmulOp(const artifact::LibraryCommand &command,
                    const Tensors &inputs, const Tensors &outputs);
EmulatedOp convolutionOp(const artifact::LibraryCommand &command,
                         const Tensors &inputs, const Tensors &outputs);
EmulatedOp convolutionBackwardDataOp(const artifact::LibraryCommand &command,
                                     const Tensors &inputs,
                                     const Tensors &outputs);
EmulatedOp convolutionBackwardWeightsOp(const artifact::LibraryCommand &command,
                                        const Tensors &inputs,
                                        const Tensors &outputs);
EmulatedOp attentionOp(const artifact::LibraryCommand &command,
                       const Tensors &inputs, const Tensors &outputs);
EmulatedOp attentionBackwardOp(const artifact::LibraryCommand &command,
                               const Tensors &inputs, const Tensors &outputs);

} // namespace gradus::runtime::cuda
