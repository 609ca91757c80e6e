// The libraries of a card's vendor, which serve library commands.
#pragma once

#include "runtime/cuda/card.h"
#include "runtime/cuda/library_call.h"

namespace gradus::runtime::cuda {

/// Opens them; the card outlives what comes from here.
StatusOr<std::unique_ptr<LibraryServer>> cardLibraries(const Card &card);

} // namespace gradus::runtime::cuda
