// The operations of the emulated card's library: plain loops over floats, which
// owe nothing to any library.
#pragma once

#include "runtime/cuda/emulated_numbers.h"
#include "runtime/cuda/library_call.h"

#include <functional>

namespace gradus::runtime::cuda {

/// Computes outputs from inputs, which are addresses of the host.
using EmulatedOp = std::function<void(const CallAddresses &)>;

/// What a verified command asks for.
StatusOr<EmulatedOp> emulatedOp(const artifact::LibraryCommand &command);

// Each of them, given the tensors of the command.
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
