// The traits of ir/traits.td in C++, and questions that passes ask of any op.
#pragma once

#include "mlir/IR/OpDefinition.h"

namespace gradus {

#define GRADUS_TRAIT(name)                                                     \
  template <typename Op>                                                       \
  class name : public mlir::OpTrait::TraitBase<Op, name> {};
GRADUS_TRAIT(MovesElements)
GRADUS_TRAIT(KeepsAllElements)
GRADUS_TRAIT(NamesMemory)
GRADUS_TRAIT(ReturnsExactNumbers)
GRADUS_TRAIT(Keeps16Bits)
GRADUS_TRAIT(ComputesOfFewElements)
GRADUS_TRAIT(PoolsWindows)
#undef GRADUS_TRAIT

/// Whether an op moves elements of its only operand.
inline bool movesOneOperand(mlir::Operation *op) {
  return op->hasTrait<MovesElements>() && op->getNumOperands() == 1;
}

} // namespace gradus
