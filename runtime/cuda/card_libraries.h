// The libraries of the GPU's vendor, which serve library commands: cuBLASLt for
// matmul, cuDNN for convolution and attention. Each is opened when the first
// command needs it.
#pragma once

#include "runtime/cuda/card.h"
#include "runtime/cuda/libraries/library_call.h"

namespace gradus::runtime::cuda {

/// Returns the server of a GPU, which must outlive it. A command uses the
/// algorithm that was measured for a GPU of this name and this version of the
/// library, if it has one and that works; otherwise the library chooses.
std::unique_ptr<LibraryServer> cardLibraries(const Card &card);

/// Returns the bytes of scratch that calls may use in addition to a plan's: a
/// part of the GPU's total memory, or none if the plan's state, arena and
/// constants are more than half of it. Free memory does not matter, so that
/// other programs cannot change the choice of engines, and with it the bits of
/// a step.
uint64_t scratchToLend(uint64_t ofCard, const artifact::Plan &plan);

} // namespace gradus::runtime::cuda
