// Lowers attention to launches of kernels over heads, and decides what these
// read in 16 bits. attention_kernel.cpp writes the kernels.

#include "codegen/kernels/attention_kernel.h"
#include "codegen/kernels/lower_to_kernels.h"
#include "codegen/nests/lower_to_nests.h"

namespace gradus {
using namespace mlir;
using plan::LaunchOp;

namespace {

//===-- operands in 16 bits -----------------------------------------------===//

/// A value rounded to bf16 before `reader`. All that read it so read one
/// tensor; what else reads the value, such as a parameter's update, reads all
/// its bits.
Value rounded(Value value, Operation *reader) {
  if (Value narrow = widenedBf16(value))
    return narrow;
  for (Operation *user : value.getUsers())
    if (isa<arith::TruncFOp>(user) &&
        getElementTypeOrSelf(user->getResult(0)).isBF16() &&
        user->getBlock() == reader->getBlock() && user->isBeforeInBlock(reader))
      return user->getResult(0);
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  return arith::TruncFOp::create(builder, value.getLoc(),
                                 tensorType(value).clone(builder.getBF16Type()),
                                 value);
}

/// A copy of an op that reads another value at one operand.
Value copyReading(OpBuilder &builder, OpOperand &operand, Value value) {
  Operation *copy = builder.clone(*operand.getOwner());
  copy->setOperand(operand.getOperandNumber(), value);
  return copy->getResult(0);
}

bool isSum(Operation *op) {
  auto reduce = dyn_cast_or_null<ReduceOp>(op);
  return reduce && reduce.getKind() == Reduction::sum;
}

/// Makes the `delta` of `gradient` as the given one was made of `old`: a sum of
/// products, perhaps less the gradient of the logsumexp. The new ops are
/// copies, as others may read the old ones. Returns null if it was made
/// otherwise.
Value deltaOf(OpBuilder &builder, Value delta, Value old, Value gradient) {
  Operation *made = delta.getDefiningOp();
  if (isa_and_nonnull<arith::MulFOp>(made)) {
    for (OpOperand &factor : made->getOpOperands())
      if (factor.get() == old)
        return copyReading(builder, factor, gradient);
  } else if (isa_and_nonnull<arith::SubFOp>(made) || isSum(made)) {
    OpOperand &summed = made->getOpOperand(0);
    if (Value other = deltaOf(builder, summed.get(), old, gradient))
      return copyReading(builder, summed, other);
  }
  return Value();
}

/// The kernel reads the gradient rounded. So must the sum that makes `delta`,
/// or the gradients of a query's scores would not add up to 0.
void readRounded(AttentionBackwardOp op) {
  Value wide = op.getGradient(), narrow = rounded(wide, op),
        delta = op.getDelta();
  op.getGradientMutable().assign(narrow);
  if (widenedBf16(wide))
    return;
  OpBuilder builder(op);
  Value read =
      arith::ExtFOp::create(builder, op.getLoc(), wide.getType(), narrow);
  if (Value other = deltaOf(builder, delta, wide, read))
    op.getDeltaMutable().assign(other);
  else
    read.getDefiningOp()->erase();
  for (Operation *made = delta.getDefiningOp();
       made && isOpTriviallyDead(made);) {
    Operation *before = made->getOperand(0).getDefiningOp();
    made->erase();
    made = before;
  }
}

//===-- launches ----------------------------------------------------------===//

/// The shape with the batch and head dimensions merged.
SmallVector<int64_t> byHead(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> heads(shape.drop_front());
  heads[0] *= shape[0];
  return heads;
}

/// The operands by heads, then the mask and, for dropout, the step, the
/// first place if it is given, and the stream: the latter is a number in
/// memory, not in the code, so that all layers can share the kernel.
template <typename Op>
SmallVector<Value> operandsOf(OpBuilder &builder, Op op) {
  constexpr size_t byHeads = std::is_same_v<Op, AttentionOp> ? 3 : 7;
  SmallVector<Value> operands(op->getOperands());
  for (Value &operand : MutableArrayRef(operands).take_front(byHeads))
    operand = reshape(builder, op.getLoc(), operand,
                      byHead(tensorType(operand).getShape()));
  if (op.getStep())
    operands.push_back(arith::ConstantOp::create(
        builder, op.getLoc(),
        DenseElementsAttr::get(RankedTensorType::get({}, builder.getI64Type()),
                               ArrayRef<int64_t>(op.getStream()))));
  return operands;
}

/// The results of the kernel: those of the op, but in the backward pass each
/// item has query gradients of its own.
template <typename Op>
SmallVector<Type> typesOf(Op op, const AttentionTiles &tiles) {
  SmallVector<Type> types;
  for (Type type : op->getResultTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    types.push_back(tensor.clone(byHead(tensor.getShape())));
  }
  if (isa<AttentionBackwardOp>(*op)) {
    auto queries = cast<RankedTensorType>(types[0]);
    SmallVector<int64_t> shape(queries.getShape());
    shape[0] *= tiles.parts;
    types[0] = queries.clone(shape);
  }
  return types;
}

/// Sums the parts that the items of each head computed.
Value sumOfParts(OpBuilder &builder, Location loc, Value found, int64_t parts) {
  SmallVector<int64_t> shape(shapeOf(found));
  shape[0] /= parts;
  Domain domain(builder.getContext());
  SmallVector<AffineExpr> at = domain.parallel(shape);
  AffineExpr part = domain.reduced(parts);
  return sumNest(builder, loc, domain, at, tensorType(found).clone(shape),
                 {found, domain.map({at[0] * parts + part, at[1], at[2]}), {}},
                 "attention_backward");
}

template <typename Op>
SmallVector<Value> launch(OpBuilder &builder, Op op, KernelTable &kernels,
                          StringRef label, int64_t products) {
  constexpr bool isForward = std::is_same_v<Op, AttentionOp>;
  AttentionSizes sizes(op.getQuery(), op.getValue());
  if (!sizes.fitsAKernel())
    return {};
  bool pairs = getElementTypeOrSelf(op.getQuery()).isBF16();
  AttentionTiles tiles(sizes, op.getCausal(), /*ofKeys=*/!isForward, pairs);
  SmallVector<Value> operands = operandsOf(builder, op);
  SmallVector<Type> types = typesOf(op, tiles);
  plan::KernelOp kernel =
      kernels.add(attentionKernel(op, tiles, operands, types), label);
  int64_t heads = sizes.batch * sizes.heads,
          flops = heads * scoresMet(sizes, tiles, op.getCausal()) * products *
                  (sizes.width + sizes.depth);
  auto made = LaunchOp::create(
      builder, op.getLoc(), types, kernel.getSymName(), operands,
      ArrayRef<int64_t>{heads * tiles.parts},
      /*grain=*/1, SmallVector<int64_t>(types.size(), -1), flops,
      builder.getStringAttr(label + (pairs ? ", pairs of bf16" : "")));
  SmallVector<Value> found(made.getResults()), results;
  if (tiles.parts > 1 && !isForward)
    found[0] = sumOfParts(builder, op.getLoc(), found[0], tiles.parts);
  for (auto [result, type] : llvm::zip(found, op->getResultTypes()))
    results.push_back(reshape(builder, op.getLoc(), result,
                              cast<RankedTensorType>(type).getShape()));
  return results;
}

} // namespace

void readPairs(Operation *op) {
  if (!isa<AttentionOp, AttentionBackwardOp>(op) ||
      !readsPairs(op->getOperand(0), op->getOperand(1), op->getOperand(2)))
    return;
  for (OpOperand &operand : op->getOpOperands().take_front(3))
    operand.set(widenedBf16(operand.get()));
  if (auto backward = dyn_cast<AttentionBackwardOp>(op))
    readRounded(backward);
}

SmallVector<Value> lowerToKernel(OpBuilder &builder, AttentionOp op,
                                 KernelTable &kernels) {
  return launch(builder, op, kernels, "attention", 2);
}

SmallVector<Value> lowerToKernel(OpBuilder &builder, AttentionBackwardOp op,
                                 KernelTable &kernels) {
  return launch(builder, op, kernels, "attention_backward", 5);
}

} // namespace gradus
