// Costs come from shapes alone; see op_costs.h.

#include "ir/op_costs.h"

#include "ir/attention_sizes.h"

#include <cmath>

using namespace mlir;
using namespace gradus;

static ArrayRef<int64_t> shapeOf(Value value) {
  auto type = dyn_cast<ShapedType>(value.getType());
  return type && type.hasRank() ? type.getShape() : ArrayRef<int64_t>();
}

static int64_t elements(Value value) {
  auto type = dyn_cast<ShapedType>(value.getType());
  return type && type.hasStaticShape() ? type.getNumElements() : 0;
}

static int64_t innerSizeOf(MatmulOp op) {
  ArrayRef<int64_t> a = shapeOf(op.getA());
  return a[a.size() - (op.getTransposeA() ? 2 : 1)];
}

/// The number of elements with one index along an axis.
static int64_t perChannel(Value value, unsigned axis) {
  return elements(value) / std::max<int64_t>(shapeOf(value)[axis], 1);
}

/// The largest number of terms in a sum along an axis, or over whole tensors.
static int64_t maximumTerms(Operation &op) {
  int64_t longest = 1, largest = 1, fewest = INT64_MAX;
  for (Value operand : op.getOperands()) {
    largest = std::max(largest, elements(operand));
    for (int64_t extent : shapeOf(operand))
      longest = std::max(longest, extent);
  }
  for (Value result : op.getResults())
    fewest = std::min(fewest, std::max<int64_t>(elements(result), 1));
  return std::max(longest, largest / fewest);
}

int64_t gradus::summedTerms(Operation &op) {
  if (isa<Elementwise>(op) || op.hasTrait<OpTrait::Elementwise>())
    return 1;
  if (auto summing = dyn_cast<Summing>(op))
    return summing.getSummedTerms();
  if (auto matmul = dyn_cast<MatmulOp>(op))
    return innerSizeOf(matmul);
  if (isa<ConvolutionOp>(op))
    return perChannel(op.getOperand(1), 0);
  if (isa<ConvolutionBackwardDataOp, ConvolutionBackwardWeightsOp>(op))
    return perChannel(op.getOperand(1), 1); // Weights or gradient.
  if (isa<ReduceOp, ScatterAddOp>(op))
    return maximumTerms(op);
  // Normalizations, softmax and the like use a sum on each of its own terms,
  // which then move by the typical rounding of a sum.
  return std::llround(std::sqrt(maximumTerms(op)));
}

/// A convolution or one of its gradients: each weight of an output channel
/// times each output position.
static int64_t convolutionFlops(Value weights, Value output) {
  return 2 * perChannel(weights, 0) * elements(output);
}

/// Two matmuls forward, five backward; a causal mask hides half of each.
template <typename Op> static int64_t attentionFlops(Op op, int64_t products) {
  AttentionSizes sizes(op.getQuery(), op.getValue());
  int64_t flops = sizes.batch * sizes.heads * sizes.queries * sizes.keys *
                  products * (sizes.width + sizes.depth);
  return op.getCausal() ? flops / 2 : flops;
}

int64_t gradus::graphFlops(Operation &op) {
  if (auto summing = dyn_cast<Summing>(op))
    return summing.getFlops();
  if (auto attention = dyn_cast<AttentionOp>(op))
    return attentionFlops(attention, 2);
  if (auto attention = dyn_cast<AttentionBackwardOp>(op))
    return attentionFlops(attention, 5);
  if (auto matmul = dyn_cast<MatmulOp>(op))
    return 2 * innerSizeOf(matmul) * elements(matmul);
  if (isa<ConvolutionOp>(op))
    return convolutionFlops(op.getOperand(1), op.getResult(0));
  if (isa<ConvolutionBackwardDataOp>(op))
    return convolutionFlops(op.getOperand(1), op.getOperand(0));
  if (isa<ConvolutionBackwardWeightsOp>(op))
    return convolutionFlops(op.getResult(0), op.getOperand(1));
  if (isa<ReduceOp>(op))
    return elements(op.getOperand(0));
  bool isFree = op.getNumResults() == 0 || op.hasTrait<MovesElements>() ||
                op.hasTrait<OpTrait::ConstantLike>() || isa<ReadOp, IotaOp>(op);
  return isFree ? 0 : elements(op.getResult(0));
}
