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

/// Bytes of scratch that calls may take beside a plan's, of all the memory that
/// a card has and all that a plan takes; none where that is more than half. It
/// hangs on no other program of the card: nor may the bits of a step.
uint64_t scratchToLend(uint64_t ofCard, uint64_t ofPlan);

} // namespace gradus::runtime::cuda
