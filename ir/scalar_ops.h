// The facts of ir/scalar_ops.def, for whoever has an op at hand.
#pragma once

#include "ir/gradus.h"

namespace gradus {

/// Says how long an op takes; ir/scalar_ops.def explains the values.
enum class ScalarCost { move, simple, flop, division, function };

/// An op of arith or math that works on single elements.
struct ScalarOp {
  /// The types of an op, in the words of ir/scalar_ops.def; `operands` has one
  /// for each operand, separated by spaces.
  struct Signature {
    llvm::StringRef operands, result;
  };

  llvm::StringRef name;
  llvm::StringRef types;
  ScalarCost cost;
  bool isExact; // The result is not rounded.

  llvm::SmallVector<Signature> signatures() const;
  /// Whether the result has the operand's number in more or fewer bits.
  bool changesWidth() const;
};

/// Returns all scalar ops; constants are none.
llvm::ArrayRef<ScalarOp> scalarOps();

/// Returns what is known of an op; null if it is no scalar op.
const ScalarOp *scalarOp(mlir::Operation *op);

/// Whether an op converts numbers to a wider or narrower type of their kind.
bool changesWidth(mlir::Operation *op);

} // namespace gradus
