// The products of which a weight's gradient consists, as autodiff leaves them:
// what went into a layer, and the gradient of what came out of it.
//
// The backward twin of weight_axes.h. A layer need not be marked in the model:
// its two sides are the operands of the op that sums over rows.
#pragma once

#include "passes/weight_axes.h"

#include "llvm/ADT/DenseSet.h"

namespace gradus {

/// Ops on which the loss of a training graph depends.
class ForwardPass {
public:
  explicit ForwardPass(GraphOp train);

  /// Whether a value is one of these ops' or an input, or is only moved or
  /// converted from such.
  bool computes(mlir::Value value) const;

private:
  llvm::DenseSet<mlir::Operation *> ops_;
};

/// An op that makes a weight's gradient out of what went into the layer and of
/// the gradient of what came out of it.
struct WeightProduct {
  WeightKind kind;
  mlir::Operation *op;
  mlir::Value inputs;  // values or images; for an embedding its indices
  mlir::Value outputs; // the gradient
  /// The axes of both that are features; all others are rows. Of images it is
  /// 1, of indices there is none.
  int64_t inputAxis = 0, outputAxis = 0;
  /// The gradient's axes that count features of the inputs, in the order in
  /// which a window is laid out; the others count outputs.
  llvm::SmallVector<int64_t> axes = {};
  int64_t groups = 1; // of a convolution
};

/// The product that is a gradient, looking through casts, transposes, and
/// reshapes that add or drop axes of size 1. Null with the reason in words
/// where it is none: "its gradient is ...".
std::optional<WeightProduct> weightProduct(mlir::Value gradient,
                                           const ForwardPass &forward,
                                           std::string &reason);

} // namespace gradus
