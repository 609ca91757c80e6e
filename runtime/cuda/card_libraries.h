// The libraries of a card's vendor, which serve library commands: products by
// cuBLASLt, convolutions and attention by cuDNN. Each is opened when the first
// command needs it.
#pragma once

#include "runtime/cuda/card.h"
#include "runtime/cuda/library_call.h"

namespace gradus::runtime::cuda {

/// The card outlives what comes from here. A command is computed by the
/// algorithm that was measured for a card of this name and for this library,
/// where the command has one and it serves; else by one that the library
/// chooses.
std::unique_ptr<LibraryServer> cardLibraries(const Card &card);

/// Returns the bytes of scratch that calls may take beside a plan's: a part of
/// all the memory that a GPU has, and none if the plan takes more than half of
/// it. Free memory does not count, so that other programs cannot change the
/// engines, and with them the bits of a step.
uint64_t scratchToLend(uint64_t ofCard, uint64_t ofPlan);

} // namespace gradus::runtime::cuda
