// None so far: plans with library commands are refused by cards.

#include "runtime/cuda/card_libraries.h"

namespace gradus::runtime::cuda {

StatusOr<std::unique_ptr<LibraryServer>> cardLibraries(const Card &card) {
  return failed("this Gradus runs no library commands on ", card.name());
}

} // namespace gradus::runtime::cuda
