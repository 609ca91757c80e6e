// Attention: its verifier, its decomposition into small ops, and its gradient.
//
// The backward pass recomputes the probabilities as [keys, queries], where the
// forward pass has [queries, keys]: so common subexpression elimination does
// not merge the two and keep the scores in memory between them.

#include "ir/attention_sizes.h"
#include "ir/dropout.h"

#include <limits>

using namespace mlir;
using namespace gradus;

using Values = SmallVector<Value>;

void AttentionOp::build(OpBuilder &builder, OperationState &state, Value query,
                        Value key, Value value, Value mask, bool causal,
                        double scale, FloatAttr dropout) {
  AttentionSizes s(query, value);
  RankedTensorType type = tensorType(query),
                   rows = RankedTensorType::get(
                       {s.batch, s.heads, s.queries},
                       computeType(type.getElementType()));
  build(builder, state, type.clone({s.batch, s.heads, s.queries, s.depth}),
        rows, rows, query, key, value, mask, Value(), Value(), causal,
        APFloat(scale), dropout);
}

//===-- what must hold ----------------------------------------------------===//

static LogicalResult checkShape(Operation *op, StringRef what, Value value,
                                ArrayRef<int64_t> expected, Type element) {
  auto type = RankedTensorType::get(expected, element);
  if (value.getType() == type)
    return success();
  return op->emitOpError("has the ")
         << what << " " << value.getType() << ", expected " << type;
}

/// Whether each dimension of the mask is 1 or equal to that of the scores.
static bool repeatsTo(ArrayRef<int64_t> mask, ArrayRef<int64_t> scores) {
  return mask.size() == scores.size() &&
         llvm::all_of(llvm::zip(mask, scores), [](auto pair) {
           auto [size, full] = pair;
           return size == 1 || size == full;
         });
}

template <typename Op> static LogicalResult checkDropout(Op op) {
  std::optional<APFloat> dropout = op.getDropout();
  double ratio = dropout ? dropout->convertToDouble() : 0;
  if (!(ratio >= 0 && ratio <= 1))
    return op.emitOpError("has dropout ") << ratio << ", expected 0 to 1";
  if (op.getStep() && !dropout)
    return op.emitOpError("has a step to draw at, but no dropout");
  if (op.getFirst() && !op.getStep())
    return op.emitOpError("counts places from a number, but draws none");
  return success();
}

/// Verifies the inputs that both ops have.
template <typename Op> static LogicalResult checkInputs(Op op) {
  for (Value value : {op.getQuery(), op.getKey(), op.getValue()})
    if (tensorType(value).getRank() != 4)
      return op.emitOpError("takes tensors of [batch, heads, length, width], "
                            "found ")
             << value.getType();
  AttentionSizes s(op.getQuery(), op.getValue());
  Type element = tensorType(op.getQuery()).getElementType();
  if (failed(checkShape(op, "keys", op.getKey(),
                        {s.batch, s.heads, s.keys, s.width}, element)) ||
      failed(checkShape(op, "values", op.getValue(),
                        {s.batch, s.heads, s.keys, s.depth}, element)))
    return failure();
  if (!op.getMask() ||
      repeatsTo(tensorType(op.getMask()).getShape(), s.scores()))
    return checkDropout(op);
  return op.emitOpError("has the mask ")
         << op.getMask().getType() << ", which does not repeat to the scores "
         << RankedTensorType::get(s.scores(), element);
}

/// Verifies an operand or result that has one number for each query.
template <typename Op>
static LogicalResult checkRows(Op op, StringRef what, Value value) {
  AttentionSizes s(op.getQuery(), op.getValue());
  return checkShape(op, what, value, {s.batch, s.heads, s.queries},
                    computeType(tensorType(op.getQuery()).getElementType()));
}

LogicalResult AttentionOp::verify() {
  if (failed(checkInputs(*this)))
    return failure();
  AttentionSizes s(getQuery(), getValue());
  Type element = tensorType(getQuery()).getElementType();
  if (failed(checkShape(*this, "result", getResult(),
                        {s.batch, s.heads, s.queries, s.depth}, element)) ||
      failed(checkRows(*this, "logsumexp", getLogsumexp())))
    return failure();
  return checkRows(*this, "remainder", getRemainder());
}

LogicalResult AttentionBackwardOp::verify() {
  if (failed(checkInputs(*this)))
    return failure();
  AttentionSizes s(getQuery(), getValue());
  Type element = tensorType(getQuery()).getElementType();
  if (failed(checkRows(*this, "logsumexp", getLogsumexp())) ||
      failed(checkRows(*this, "remainder", getRemainder())) ||
      failed(checkRows(*this, "delta", getDelta())) ||
      failed(checkShape(*this, "gradient", getGradient(),
                        {s.batch, s.heads, s.queries, s.depth}, element)))
    return failure();
  for (auto [result, input] :
       llvm::zip(getResults(), getOperands().take_front(3)))
    if (result.getType() != input.getType())
      return emitOpError("has the gradient ")
             << result.getType() << " of " << input.getType();
  return success();
}

/// Whether attention is worth a kernel of its own, and one can be made. A tiny
/// attention may share a kernel with all the rest of a tiny graph.
template <typename Op> static bool isWorthAKernel(Op op) {
  constexpr int64_t leastWork = 100'000;
  AttentionSizes s(op.getQuery(), op.getValue());
  int64_t work = s.batch * s.heads * s.queries * s.keys * (s.width + s.depth);
  return tensorType(op.getQuery()).getElementType().isF32() &&
         work >= leastWork && s.fitsAKernel();
}

bool AttentionOp::staysWhole() { return isWorthAKernel(*this); }
bool AttentionBackwardOp::staysWhole() { return isWorthAKernel(*this); }

//===-- small ops ---------------------------------------------------------===//

namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

/// Builds an attention of small ops. Scores are [batch, heads, queries, keys],
/// or with the last two exchanged.
struct SmallOps {
  template <typename Op>
  SmallOps(Op op, OpBuilder &builder)
      : builder(builder), loc(op.getLoc()), sizes(op.getQuery(), op.getValue()),
        query(wide(op.getQuery())), key(wide(op.getKey())),
        value(wide(op.getValue())), mask(op.getMask()), step(op.getStep()),
        first(op.getFirst()), scale(op.getScale().convertToDouble()),
        causal(op.getCausal()),
        dropping{step ? op.getDropout()->convertToDouble() : 0},
        stream(op.getStream()), seed(op.getSeed()) {}

  template <typename Small> Value make(ValueRange operands) const {
    return builder.createOrFold<Small>(loc, operands);
  }
  Value add(Value a, Value b) const { return make<arith::AddFOp>({a, b}); }
  Value sub(Value a, Value b) const { return make<arith::SubFOp>({a, b}); }
  Value mul(Value a, Value b) const { return make<arith::MulFOp>({a, b}); }
  Value exp(Value a) const { return make<math::ExpOp>({a}); }
  Value select(Value c, Value a, Value b) const {
    return make<arith::SelectOp>({c, a, b});
  }
  Value number(double x, Value like) const {
    return splatLike(builder, like, x);
  }
  Value scaled(Value a) const { return mul(a, number(scale, a)); }
  Value wide(Value a) const {
    return convert(builder, loc, a,
                   computeType(tensorType(a).getElementType()));
  }
  Value like(Value a, Value model) const {
    return convert(builder, loc, a, tensorType(model).getElementType());
  }
  Value matmulOf(Value a, Value b, bool transposeA = false,
                 bool transposeB = false) const {
    return matmul(builder, loc, a, b, transposeA, transposeB);
  }
  /// Broadcasts one value for each query to all of its scores.
  Value over(Value rows, Value scores, int64_t axis) const {
    return broadcastAlong(builder, loc, rows, tensorType(scores).getShape(),
                          axis);
  }

  Value scores(bool keysFirst) const;
  Value masked(Value scores, bool keysFirst) const;
  Value unseen(Value scores, bool keysFirst) const;
  /// Recomputes the probabilities from the scores and the logsumexp.
  template <typename Op>
  Value probabilities(Op op, Value scores, int64_t axis) const {
    Value rest = sub(scores, over(op.getLogsumexp(), scores, axis));
    rest = sub(rest, over(op.getRemainder(), scores, axis));
    // Bounded by 1: with large mask values, sums in another order than the
    // forward pass's can leave the difference well above 0.
    return exp(make<arith::MinimumFOp>({rest, number(0, rest)}));
  }
  Value dropped(Value values, bool keysFirst) const;

  OpBuilder &builder;
  Location loc;
  AttentionSizes sizes;
  Value query, key, value, mask, step, first;
  double scale;
  bool causal;
  Dropping dropping;
  int64_t stream, seed;
};

Value SmallOps::scores(bool keysFirst) const {
  Value dots = keysFirst ? matmulOf(key, scaled(query), false, true)
                         : matmulOf(scaled(query), key, false, true);
  return unseen(masked(dots, keysFirst), keysFirst);
}

Value SmallOps::masked(Value scores, bool keysFirst) const {
  Value mask = this->mask;
  if (!mask)
    return scores;
  if (keysFirst)
    mask = transpose(builder, loc, mask, {0, 1, 3, 2});
  bool isTruth = tensorType(mask).getElementType().isInteger(1);
  mask = broadcast(builder, loc, isTruth ? mask : wide(mask),
                   tensorType(scores).getShape(), allAxes(4));
  if (isTruth)
    return select(mask, scores, number(kNone, scores));
  return add(scores, mask);
}

/// Hides from each query the keys that follow it.
Value SmallOps::unseen(Value scores, bool keysFirst) const {
  if (!causal)
    return scores;
  auto type = tensorType(scores).clone(builder.getI64Type());
  Value queries = iota(builder, loc, type, keysFirst ? 3 : 2),
        keys = iota(builder, loc, type, keysFirst ? 2 : 3);
  Value seen = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle,
                                     keys, queries);
  return select(seen, scores, number(kNone, scores));
}

/// Applies dropout to values of the shape of the scores and scales up those
/// that stay.
Value SmallOps::dropped(Value values, bool keysFirst) const {
  if (!step)
    return values;
  auto bits = RankedTensorType::get(sizes.scores(), builder.getI64Type());
  Value drawn =
      RandomBitsOp::create(builder, loc, bits, step, first, stream, seed);
  Value drops =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, drawn,
                            splat(builder, loc, bits, dropping.limit()));
  if (keysFirst)
    drops = transpose(builder, loc, drops, {0, 1, 3, 2});
  return select(drops, number(0, values),
                mul(values, number(dropping.factor(), values)));
}

} // namespace

/// The formula is exp(score - max) / sum; where all scores are -inf the maximum
/// counts as 0 and the sum as 1. The remainder is exact where the maximum is
/// larger than the sum's logarithm, and elsewhere negligible.
Values AttentionOp::decompose(OpBuilder &builder) {
  SmallOps a(*this, builder);
  Value scores = a.scores(false);
  Value largest = reduce(builder, a.loc, Reduction::max, scores, {3});
  Value isAlone;
  if (getMask()) {
    isAlone = arith::CmpFOp::create(builder, a.loc, arith::CmpFPredicate::OEQ,
                                    largest, a.number(kNone, largest));
    largest = a.select(isAlone, a.number(0, largest), largest);
  }
  Value shares = a.exp(a.sub(scores, a.over(largest, scores, 3)));
  Value total = sum(builder, a.loc, shares, {3});
  if (isAlone)
    total = a.select(isAlone, a.number(1, total), total);
  Value inverse = a.make<arith::DivFOp>({a.number(1, total), total});
  Value probabilities = a.mul(shares, a.over(inverse, scores, 3));
  Value logarithm = a.make<math::LogOp>({total});
  Value logsumexp = a.add(largest, logarithm);
  return {
      a.like(a.matmulOf(a.dropped(probabilities, false), a.value), getResult()),
      logsumexp, a.sub(logarithm, a.sub(logsumexp, largest))};
}

Values AttentionBackwardOp::decompose(OpBuilder &builder) {
  SmallOps a(*this, builder);
  Value scores = a.scores(/*keysFirst=*/true), g = a.wide(getGradient());
  Value probabilities = a.probabilities(*this, scores, 2);
  Value along = a.dropped(a.matmulOf(a.value, g, false, true), true);
  Value slopes =
      a.mul(probabilities, a.sub(along, a.over(getDelta(), scores, 2)));
  return {a.like(a.scaled(a.matmulOf(slopes, a.key, true)), getQuery()),
          a.like(a.matmulOf(slopes, a.scaled(a.query)), getKey()),
          a.like(a.matmulOf(a.dropped(probabilities, true), g), getValue())};
}

//===-- gradient ----------------------------------------------------------===//

/// The gradient is P (Z g value^T - delta), summed over the dimensions that the
/// mask repeats.
static Value maskGradient(AttentionOp op, OpBuilder &builder, Value g,
                          Value delta) {
  SmallOps a(op, builder);
  Value scores = a.scores(false);
  Value probabilities = a.probabilities(op, scores, 3);
  Value along = a.dropped(a.matmulOf(a.wide(g), a.value, false, true), false);
  Value slopes = a.mul(probabilities, a.sub(along, a.over(delta, scores, 3)));
  ArrayRef<int64_t> mask = tensorType(op.getMask()).getShape();
  SmallVector<int64_t> repeated;
  for (auto [axis, size] : llvm::enumerate(a.sizes.scores()))
    if (mask[axis] != size)
      repeated.push_back(axis);
  if (!repeated.empty())
    slopes = sum(builder, a.loc, slopes, repeated);
  return a.like(reshape(builder, a.loc, slopes, mask), op.getMask());
}

/// The gradient of the logsumexp, times a score's probability, is part of that
/// score's gradient: it is subtracted from delta. The remainder has no
/// gradient: but for rounding it is 0.
Values AttentionOp::pullback(OpBuilder &builder, ValueRange gradients) {
  SmallOps a(*this, builder);
  Value g = gradients[0] ? gradients[0] : a.number(0, getResult());
  Value delta = sum(builder, a.loc, a.mul(a.wide(g), a.wide(getResult())), {3});
  if (gradients[1])
    delta = a.sub(delta, gradients[1]);
  auto backward = AttentionBackwardOp::create(
      builder, a.loc, getQuery().getType(), getKey().getType(),
      getValue().getType(), getQuery(), getKey(), getValue(), getLogsumexp(),
      getRemainder(), g, delta, getMask(), getStep(), getFirst(), getCausal(),
      getScale(), getDropoutAttr(), getStream(), getSeed());
  Values result(backward.getResults());
  if (getMask())
    result.push_back(isa<FloatType>(tensorType(getMask()).getElementType())
                         ? maskGradient(*this, builder, g, delta)
                         : Value());
  result.resize(getNumOperands()); // Counters have no gradient.
  return result;
}
