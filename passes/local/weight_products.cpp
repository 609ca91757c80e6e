// Finds the two sides of a layer in its weight's gradient; see
// weight_products.h.

#include "passes/local/weight_products.h"

#include "ir/build.h"
#include "ir/scalar_ops.h"
#include "passes/train_graphs.h"

using namespace mlir;

namespace gradus {
namespace {

using Axes = SmallVector<int64_t>;
using Found = std::optional<WeightProduct>;

//===-- the ops that sum over rows ----------------------------------------===//

/// The axis of an operand of a matmul that the result keeps.
int64_t keptAxis(Value operand, bool isLeft, bool isTransposed) {
  int64_t rank = tensorType(operand).getRank();
  return isLeft == isTransposed ? rank - 1 : rank - 2;
}

Found ofMatmul(MatmulOp op, const ForwardPass &forward) {
  if (op.getType().getRank() != 2)
    return {};
  bool isLeft = forward.computes(op.getA());
  if (isLeft == forward.computes(op.getB()))
    return {};
  int64_t a = keptAxis(op.getA(), true, op.getTransposeA()),
          b = keptAxis(op.getB(), false, op.getTransposeB());
  return WeightProduct{.kind = WeightKind::dense,
                       .op = op,
                       .inputs = isLeft ? op.getA() : op.getB(),
                       .outputs = isLeft ? op.getB() : op.getA(),
                       .inputAxis = isLeft ? a : b,
                       .outputAxis = isLeft ? b : a,
                       .axes = {isLeft ? 0 : 1}};
}

/// The roles of a transposed convolution's operands are exchanged: its own
/// gradient would be unfolded, not its input.
Found ofConvolution(ConvolutionBackwardWeightsOp op,
                    const ForwardPass &forward) {
  if (!forward.computes(op.getInput()) || forward.computes(op.getGradient()))
    return {};
  return WeightProduct{.kind = WeightKind::convolution,
                       .op = op,
                       .inputs = op.getInput(),
                       .outputs = op.getGradient(),
                       .inputAxis = 1,
                       .outputAxis = 1,
                       .axes = axesExcept(op.getType().getRank(), {0}),
                       .groups = int64_t(op.getGroups())};
}

Found ofEmbedding(ScatterAddOp op, const ForwardPass &forward) {
  if (op.getBatchDims() != 0 || op.getAxis() != 0 ||
      op.getType().getRank() != 2 || !forward.computes(op.getIndices()) ||
      forward.computes(op.getUpdates()))
    return {};
  if (tensorType(op.getUpdates()).getRank() < 2) // of a single index
    return {};
  return WeightProduct{.kind = WeightKind::embedding,
                       .op = op,
                       .inputs = op.getIndices(),
                       .outputs = op.getUpdates(),
                       .outputAxis = tensorType(op.getUpdates()).getRank() - 1,
                       .axes = {0}};
}

Found ofProduct(Operation *op, const ForwardPass &forward) {
  if (auto matmul = dyn_cast<MatmulOp>(op))
    return ofMatmul(matmul, forward);
  if (auto convolution = dyn_cast<ConvolutionBackwardWeightsOp>(op))
    return ofConvolution(convolution, forward);
  if (auto scatter = dyn_cast<ScatterAddOp>(op))
    return ofEmbedding(scatter, forward);
  return {};
}

//===-- ops on the way ----------------------------------------------------===//

/// Maps axes of a reshape's input to those of its result; nothing if the
/// reshape does more than add or drop axes of size 1.
std::optional<Axes> behindView(ReshapeOp view, const Axes &axes) {
  ArrayRef<int64_t> from = tensorType(view.getInput()).getShape(),
                    to = view.getType().getShape();
  SmallVector<int64_t> moved(from.size(), -1);
  size_t position = 0;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] == 1)
      continue;
    while (position < to.size() && to[position] == 1)
      ++position;
    if (position == to.size() || to[position] != from[axis])
      return {};
    moved[axis] = position++;
  }
  Axes result;
  for (int64_t axis : axes)
    if (moved[axis] >= 0)
      result.push_back(moved[axis]);
  return result;
}

Axes behindTranspose(TransposeOp transpose, const Axes &axes) {
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  return llvm::map_to_vector(axes, [&](int64_t axis) {
    return int64_t(llvm::find(permutation, axis) - permutation.begin());
  });
}

/// Maps axes of an op's operand to those of its result.
std::optional<Axes> behind(Operation *op, const Axes &axes) {
  if (changesWidth(op))
    return axes;
  if (auto view = dyn_cast<ReshapeOp>(op))
    return behindView(view, axes);
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return behindTranspose(transpose, axes);
  return {};
}

Found find(Value gradient, const ForwardPass &forward) {
  Operation *op = gradient.getDefiningOp();
  if (!op)
    return {};
  if (Found found = ofProduct(op, forward))
    return found;
  if (op->getNumOperands() != 1 || op->getNumResults() != 1)
    return {};
  Found found = find(op->getOperand(0), forward);
  if (!found)
    return {};
  std::optional<Axes> axes = behind(op, found->axes);
  if (!axes)
    return {};
  found->axes = *axes;
  return found;
}

/// The op where looking ends, as it stands in texts.
Operation *end(Value gradient) {
  Operation *op = gradient.getDefiningOp();
  while (op && op->getNumOperands() == 1 && behind(op, {}))
    op = op->getOperand(0).getDefiningOp();
  return op;
}

std::string whyNone(Value gradient) {
  Operation *op = end(gradient);
  if (!op)
    return "an input of the graph";
  if (isa<ConvolutionBackwardWeightsOp>(op))
    return "that of a transposed convolution";
  if (isa<arith::AddFOp>(op))
    return "a sum, as the weight is used several times";
  return ("made by " + op->getName().getStringRef() +
          ", which sums no product of a layer's two sides over rows")
      .str();
}

} // namespace

ForwardPass::ForwardPass(GraphOp train) {
  SmallVector<Value> behind;
  if (OpOperand *loss = findLoss(train))
    behind.push_back(loss->get());
  while (!behind.empty()) {
    Operation *op = behind.pop_back_val().getDefiningOp();
    if (op && ops_.insert(op).second)
      llvm::append_range(behind, op->getOperands());
  }
}

bool ForwardPass::computes(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op || ops_.contains(op))
    return true;
  bool isMoved =
      movesOneOperand(op) || changesWidth(op) || isa<ConcatenateOp>(op);
  return isMoved && llvm::all_of(op->getOperands(), [&](Value operand) {
           return computes(operand);
         });
}

Found weightProduct(Value gradient, const ForwardPass &forward,
                    std::string &reason) {
  Found found = find(gradient, forward);
  if (!found)
    reason = "its gradient is " + whyNone(gradient);
  return found;
}

} // namespace gradus
