// Finds how the model uses a parameter; see weight_axes.h.

#include "passes/weight_axes.h"

#include "ir/build.h"

using namespace mlir;
using namespace gradus;

namespace {

using Axes = SmallVector<int64_t>;
using Found = std::optional<WeightAxes>;

//===-- ops that use weights ----------------------------------------------===//

/// All axes of a value but one.
Axes allBut(Value value, int64_t axis) {
  return axesExcept(tensorType(value).getRank(), {axis});
}

Found ofConvolution(Operation *op, Value weight, unsigned operand) {
  auto forward = dyn_cast<ConvolutionOp>(op);
  auto transposed = dyn_cast<ConvolutionBackwardDataOp>(op);
  if (operand != 1 || (!forward && !transposed))
    return {};
  if (forward)
    return WeightAxes{WeightKind::convolution, allBut(weight, 0),
                      int64_t(forward.getGroups())};
  // The weight's axis for inputs of a convolution is for outputs here.
  WeightAxes axes{WeightKind::convolution, allBut(weight, 1),
                  int64_t(transposed.getGroups())};
  if (axes.groups > 1)
    axes.split = 0;
  return axes;
}

/// The axis that a matmul contracts.
Found ofMatmul(Operation *op, Value weight, unsigned operand) {
  auto matmul = dyn_cast<MatmulOp>(op);
  if (!matmul)
    return {};
  int64_t rank = tensorType(weight).getRank();
  bool isLast = operand == 0 ? !matmul.getTransposeA() : matmul.getTransposeB();
  return WeightAxes{WeightKind::dense, {isLast ? rank - 1 : rank - 2}};
}

/// The axes of an embedding table, of which a row is one output.
Found ofLookUp(Operation *op, Value weight, unsigned operand) {
  auto gather = dyn_cast<GatherOp>(op);
  if (!gather || operand != 0 || gather.getBatchDims() != 0)
    return {};
  return WeightAxes{WeightKind::embedding, allBut(weight, gather.getAxis())};
}

//===-- ops on the way ----------------------------------------------------===//

/// Maps axes of a reshape's result to those of its input; nothing if the
/// reshape does more than add or drop axes of size 1.
std::optional<Axes> beforeView(ReshapeOp view, const Axes &axes) {
  ArrayRef<int64_t> from = tensorType(view.getInput()).getShape(),
                    to = view.getType().getShape();
  Axes result;
  size_t position = 0;
  for (size_t axis = 0; axis < to.size(); ++axis) {
    if (to[axis] == 1)
      continue;
    while (position < from.size() && from[position] == 1)
      ++position;
    if (position == from.size() || from[position] != to[axis])
      return {};
    if (llvm::is_contained(axes, int64_t(axis)))
      result.push_back(position);
    ++position;
  }
  return result;
}

std::optional<Axes> beforeSlice(SliceOp slice, const Axes &axes) {
  ArrayRef<int64_t> from = tensorType(slice.getInput()).getShape(),
                    to = slice.getType().getShape();
  for (int64_t axis : axes)
    if (from[axis] != to[axis])
      return {};
  return axes;
}

/// Maps axes of an op's result to those of its operand.
std::optional<Axes> before(Operation *op, const Axes &axes) {
  if (isa<arith::TruncFOp, arith::ExtFOp>(op))
    return axes;
  if (auto slice = dyn_cast<SliceOp>(op))
    return beforeSlice(slice, axes);
  if (auto view = dyn_cast<ReshapeOp>(op))
    return beforeView(view, axes);
  auto transpose = dyn_cast<TransposeOp>(op);
  if (!transpose)
    return {};
  Axes result;
  for (int64_t axis : axes)
    result.push_back(transpose.getPermutation()[axis]);
  llvm::sort(result);
  return result;
}

/// Maps all facts about a weight.
Found before(Operation *op, WeightAxes weight) {
  std::optional<Axes> inputs = before(op, weight.inputs);
  if (!inputs)
    return {};
  weight.inputs = *inputs;
  if (weight.split)
    weight.split = before(op, Axes{*weight.split})->front();
  return weight;
}

Found ofUses(Value value);

Found ofUse(OpOperand &use) {
  Operation *op = use.getOwner();
  unsigned operand = use.getOperandNumber();
  for (auto of : {ofConvolution, ofMatmul, ofLookUp})
    if (Found found = of(op, use.get(), operand))
      return found;
  if (op->getNumResults() != 1 || op->getNumOperands() != 1)
    return {};
  Found found = ofUses(op->getResult(0));
  return found ? before(op, *found) : Found();
}

/// The common result for all uses. An embedding table that is also a dense
/// layer's weight counts as the latter.
Found ofUses(Value value) {
  Found common;
  for (OpOperand &use : value.getUses()) {
    Found found = ofUse(use);
    if (!found || (common && !(*found == *common)))
      return {};
    if (!common || common->kind == WeightKind::embedding)
      common = found;
  }
  return common;
}

} // namespace

StringRef gradus::nameOf(WeightKind kind) {
  switch (kind) {
  case WeightKind::convolution:
    return "convolution";
  case WeightKind::dense:
    return "dense";
  case WeightKind::embedding:
    return "embedding";
  }
  return "";
}

std::optional<WeightAxes> gradus::weightAxes(GraphOp graph,
                                             StringRef parameter) {
  Found common;
  for (auto read : graph.getBody().front().getOps<ReadOp>()) {
    if (read.getState() != parameter || read.use_empty())
      continue;
    Found found = ofUses(read.getResult());
    if (!found || (common && !(*found == *common)))
      return {};
    if (!common || common->kind == WeightKind::embedding)
      common = found;
  }
  return common;
}
