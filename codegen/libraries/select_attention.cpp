// Passes tensors of heads to the library without copies: a transpose from [N,
// T, H, D] only changes strides.

#include "codegen/libraries/select_attention.h"

#include "codegen/plan/nest.h"
#include "ir/build.h"
#include "passes/recognition/mixed_precision.h"

#include "mlir/IR/IRMapping.h"

namespace gradus {
using namespace mlir;
using plan::LibraryOp;

/// The permutation from [N, T, H, D] to [N, H, T, D], and back.
static constexpr int64_t kHeads[] = {0, 2, 1, 3};

/// The score of hidden keys: next to any visible score its exponential is 0 in
/// f32, yet if all scores are near it, their logsumexp still has enough digits
/// to recover the probabilities.
static constexpr double kHidden = -10000;

AttentionSelection::AttentionSelection(const Library &library, GraphOp graph)
    : library_(library), graph_(graph) {
  auto program = graph->getParentOfType<ProgramOp>();
  narrow_ = narrowType(precisionOf(program), graph.getContext());
}

//===-- supported attention ----------------------------------------------===//

template <typename Op> static AttentionSize sizeOfHeads(Op op) {
  return {shapeOf(op.getQuery()), shapeOf(op.getKey()), shapeOf(op.getValue()),
          isa<AttentionBackwardOp>(op)};
}

/// Whether the library can compute the op: its logsumexp does not serve the
/// gradient of a learned mask.
static bool isLibrarys(AttentionOp op) {
  auto isGradient = [](Operation *user) {
    return isa<AttentionBackwardOp>(user);
  };
  return !op.getStep() &&
         (!op.getMask() ||
          (llvm::all_of(op.getLogsumexp().getUsers(), isGradient) &&
           llvm::all_of(op.getRemainder().getUsers(), isGradient)));
}

LibraryOp AttentionSelection::forwardOf(AttentionBackwardOp op) const {
  auto [attention, call] = calls_.lookup(op.getLogsumexp());
  bool isIts = attention && attention.getQuery() == op.getQuery() &&
               attention.getKey() == op.getKey() &&
               attention.getValue() == op.getValue() &&
               attention.getMask() == op.getMask() &&
               attention.getRemainder() == op.getRemainder() &&
               attention.getCausal() == op.getCausal() &&
               attention.getScale() == op.getScale();
  return isIts ? call : LibraryOp();
}

std::optional<ProductSize> AttentionSelection::sizeOf(Operation *op) const {
  auto measure = [&](const AttentionSize &size) -> std::optional<ProductSize> {
    if (!library_.attentionScratch(size))
      return std::nullopt;
    return ProductSize{size.flops(),
                       std::min({size.query[2], size.key[2], size.query[3]})};
  };
  if (!narrow_ || llvm::any_of(op->getOperandTypes(), [&](Type type) {
        Type element = getElementTypeOrSelf(type);
        return !element.isF32() && !element.isInteger(1) && element != narrow_;
      }))
    return std::nullopt;
  if (auto attention = dyn_cast<AttentionOp>(op);
      attention && isLibrarys(attention))
    return measure(sizeOfHeads(attention));
  if (auto backward = dyn_cast<AttentionBackwardOp>(op);
      backward && !backward.getStep() && forwardOf(backward))
    return measure(sizeOfHeads(backward));
  return std::nullopt;
}

//===-- calls -------------------------------------------------------------===//

/// The source of a value, looking through reshapes and transposes with one use.
static Value sourceOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ReshapeOp, TransposeOp>(op) || !value.hasOneUse())
      break;
    value = op->getOperand(0);
  }
  return value;
}

static bool isUndone(TransposeOp first, TransposeOp second) {
  return llvm::all_of(llvm::enumerate(second.getPermutation()), [&](auto dim) {
    return first.getPermutation()[dim.value()] == int64_t(dim.index());
  });
}

/// The elements rounded to `narrow`, where they are computed instead of after a
/// reshape or transpose.
static Value narrowed(OpBuilder &builder, Value value, Type narrow) {
  if (getElementTypeOrSelf(value) == narrow)
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  auto widened = dyn_cast_or_null<arith::ExtFOp>(op);
  if (widened && getElementTypeOrSelf(widened.getIn()) == narrow)
    return widened.getIn();
  if (!isa_and_present<ReshapeOp, TransposeOp>(op))
    return arith::TruncFOp::create(builder, value.getLoc(), type.clone(narrow),
                                   value);
  Value inner = narrowed(builder, op->getOperand(0), narrow);
  auto before = inner.getDefiningOp<TransposeOp>();
  if (before && isa<TransposeOp>(op) && isUndone(before, cast<TransposeOp>(op)))
    return before.getInput();
  IRMapping mapping;
  mapping.map(op->getOperand(0), inner);
  Value seen = builder.clone(*op, mapping)->getResult(0);
  seen.setType(type.clone(narrow));
  return seen;
}

/// The operand, rounded, as [N, T, H, D].
Value AttentionSelection::operand(OpBuilder &builder, Value value) const {
  value = narrowed(builder, value, narrow_);
  auto transposed = value.getDefiningOp<TransposeOp>();
  return transposed && transposed.getPermutation() == ArrayRef(kHeads)
             ? transposed.getInput()
             : transpose(builder, value.getLoc(), value, kHeads);
}

/// The mask as summands of the scores, with a lower bound: a query that attends
/// to no key would have only scores of -inf, for which the library's softmax is
/// NaN.
Value AttentionSelection::mask(OpBuilder &builder, Value value) {
  if (!value || masks_.contains(value))
    return value ? masks_[value] : value;
  auto type = cast<RankedTensorType>(value.getType());
  bool isFloat = isa<FloatType>(type.getElementType());
  auto sum = isFloat ? type : type.clone(narrow_);
  auto constant = [&](double number) -> Value {
    return arith::ConstantOp::create(
        builder, value.getLoc(),
        DenseElementsAttr::get(
            sum, builder.getFloatAttr(sum.getElementType(), number)));
  };
  Value hidden = constant(kHidden);
  if (isFloat)
    return masks_[value] = arith::MaximumFOp::create(builder, value.getLoc(),
                                                     value, hidden);
  return masks_[value] = arith::SelectOp::create(builder, value.getLoc(), value,
                                                 constant(0), hidden);
}

void AttentionSelection::roundBeforeViews(Block &block) const {
  for (auto round :
       llvm::make_early_inc_range(block.getOps<arith::TruncFOp>())) {
    Type narrow = getElementTypeOrSelf(round.getType());
    auto widened = sourceOf(round.getIn()).getDefiningOp<arith::ExtFOp>();
    if (narrow != narrow_ || !widened ||
        getElementTypeOrSelf(widened.getIn()) != narrow)
      continue;
    OpBuilder builder(round);
    round.getResult().replaceAllUsesWith(
        narrowed(builder, round.getIn(), narrow));
    round.erase();
  }
}

void AttentionSelection::tidy() {
  if (calls_.empty())
    return;
  Block &block = graph_.getBody().front();
  roundBeforeViews(block);
  for (auto second : block.getOps<TransposeOp>())
    if (auto first = second.getInput().getDefiningOp<TransposeOp>())
      if (isUndone(first, second))
        second.getResult().replaceAllUsesWith(first.getInput());
  eraseUnused(block);
}

/// Converts a call's [N, T, H, D] result to the op's result.
Value AttentionSelection::result(OpBuilder &builder, Value value,
                                 Type type) const {
  Value heads = transpose(builder, value.getLoc(), value, kHeads);
  if (heads.getType() == type)
    return heads;
  return arith::ExtFOp::create(builder, value.getLoc(), type, heads);
}

static LibraryLayout layoutOf(Type type) {
  ArrayRef<int64_t> shape = cast<ShapedType>(type).getShape();
  if (shape.size() == 3) // one number per query
    return rowMajorLayout({shape[0], shape[1], shape[2], 1});
  LibraryLayout layout = rowMajorLayout(shape);
  for (auto *list : {&layout.dims, &layout.paddedDims, &layout.strides})
    std::swap((*list)[1], (*list)[2]);
  return layout;
}

LibraryOp AttentionSelection::call(OpBuilder &builder, Operation *op,
                                   ArrayRef<Value> operands,
                                   ArrayRef<Type> results,
                                   const AttentionSize &size, FloatAttr scale,
                                   bool causal, Value mask) const {
  SmallVector<NamedAttribute> config = {builder.getNamedAttr("scale", scale)};
  if (causal)
    config.push_back(builder.getNamedAttr("causal", builder.getUnitAttr()));
  SmallVector<Value> given(operands);
  SmallVector<Attribute> layouts;
  auto lay = [&](const LibraryLayout &layout) {
    layouts.push_back(toAttribute(layout, builder.getContext()));
  };
  for (Value operand : operands)
    lay(layoutOf(operand.getType()));
  if (mask) {
    given.push_back(mask);
    lay(rowMajorLayout(shapeOf(mask)));
  }
  for (Type type : results)
    lay(layoutOf(type));
  StringRef name = op->getName().stripDialect();
  return LibraryOp::create(builder, op->getLoc(), results, name, given,
                           builder.getDictionaryAttr(config),
                           builder.getArrayAttr(layouts),
                           library_.attentionScratch(size).value_or(0),
                           size.flops(), builder.getStringAttr(name),
                           /*epilogue=*/{});
}

/// The type of a tensor of heads in calls.
static Type asProjected(Value value, Type element) {
  SmallVector<int64_t> shape(shapeOf(value));
  std::swap(shape[1], shape[2]);
  return RankedTensorType::get(shape, element);
}

LibraryOp AttentionSelection::select(AttentionOp op) {
  OpBuilder builder(op);
  SmallVector<Value> operands;
  for (Value value : {op.getQuery(), op.getKey(), op.getValue()})
    operands.push_back(operand(builder, value));
  auto statistic = cast<RankedTensorType>(op.getLogsumexp().getType());
  LibraryOp made = call(builder, op, operands,
                        {asProjected(op.getResult(), narrow_),
                         statistic.clone(builder.getF32Type())},
                        sizeOfHeads(op), op.getScaleAttr(), op.getCausal(),
                        mask(builder, op.getMask()));
  calls_[op.getLogsumexp()] = {op, made};
  op.getResult().replaceAllUsesWith(
      result(builder, made.getResult(0), op.getResult().getType()));
  return made;
}

/// The library recomputes delta from the result, and needs no remainder of the
/// logsumexp.
LibraryOp AttentionSelection::select(AttentionBackwardOp op) {
  OpBuilder builder(op);
  LibraryOp forward = forwardOf(op);
  SmallVector<Value> operands(forward.getOperands().take_front(3));
  operands.push_back(forward.getResult(0));
  operands.push_back(operand(builder, op.getGradient()));
  operands.push_back(forward.getResult(1));
  SmallVector<Type> types;
  for (Value value : op.getResults())
    types.push_back(asProjected(value, narrow_));
  LibraryOp made =
      call(builder, op, operands, types, sizeOfHeads(op), op.getScaleAttr(),
           op.getCausal(), mask(builder, op.getMask()));
  for (auto [old, value] : llvm::zip_equal(op.getResults(), made.getResults()))
    old.replaceAllUsesWith(result(builder, value, old.getType()));
  return made;
}

LibraryOp AttentionSelection::select(Operation *op) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return select(attention);
  return select(cast<AttentionBackwardOp>(op));
}

} // namespace gradus
