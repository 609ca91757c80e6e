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

} // namespace gradus::runtime::cuda
