// The products of which a weight's gradient consists, as autodiff leaves them:
// what went into a layer, and the gradient of what came out of it.
//
// The backward twin of weight_axes.h. A layer need not be marked in the model:
// its two sides are the operands of the op that sums over rows. A weight that
// is used several times has a sum of products, and one of which a layer uses a
// part, or which is a part of what a layer uses, has parts of products.
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

/// An op that makes a weight's gradient, or a part of it, out of what went into
/// the layer and of the gradient of what came out of it.
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
  /// Whether the window of a convolution is over the outputs: a transposed one.
  bool isTransposed = false;
};

/// A range of one side's features, by the first of the axes that count them:
/// `size` of the product's from `from` on are those of the weight from `to` on,
/// which has `total`.
struct SideRange {
  int64_t from = 0, to = 0, size = 1, total = 1;

  bool isWhole() const { return size == total; }
  bool operator==(const SideRange &other) const = default;
};

/// A part of a product that is a part of a weight's gradient.
struct WeightPart {
  WeightProduct product;
  SideRange inputs, outputs;
};

/// The parts whose sum is a gradient, looking through casts, transposes,
/// reshapes that add or drop axes of size 1, slices, concatenations, zeros
/// around a value, and sums. Empty with the reason in words where something
/// else makes a part of it: "its gradient is ...".
llvm::SmallVector<WeightPart> weightParts(mlir::Value gradient,
                                          const ForwardPass &forward,
                                          std::string &reason);

} // namespace gradus
