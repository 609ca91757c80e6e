// Lowers convolutions and pooling to nests.
//
// If there is padding, a padded copy is made first, so that the nest that does
// the work needs no guards. The gradient of a convolution's input is also a
// convolution: of the result's gradient, dilated by the stride, with the
// flipped window.

#include "codegen/nests/lower_to_nests.h"

#include "ir/window.h"

#include "llvm/ADT/TypeSwitch.h"

namespace gradus {
namespace {
using namespace mlir;
using plan::NestOp;

/// The op that is being lowered, and its window.
struct Lowering {
  OpBuilder &builder;
  Operation *op;
  Window window;

  Location location() const { return op->getLoc(); }
  MLIRContext *context() const { return builder.getContext(); }
  int64_t spatial() const { return window.rank(); }
};

using Exprs = SmallVector<AffineExpr>;

/// The index in the padded input of tap `tap` of the window at `output`.
Exprs paddedIndex(const Window &window, ArrayRef<AffineExpr> output,
                  ArrayRef<AffineExpr> tap) {
  Exprs index;
  for (int64_t d = 0; d < window.rank(); ++d)
    index.push_back(output[d] * window.strides[d] +
                    tap[d] * window.dilations[d]);
  return index;
}

Exprs join(ArrayRef<AffineExpr> first, ArrayRef<AffineExpr> second) {
  Exprs both(first);
  both.append(second.begin(), second.end());
  return both;
}

/// Pads or crops the spatial dimensions of a tensor: element q of the result is
/// element (q - begin) / spread of the input if that is an integer inside it,
/// else `fill`.
struct Padding {
  SmallVector<int64_t> begin, extents, spread;

  bool changes(Value input) const {
    return llvm::any_of(begin, [](int64_t b) { return b != 0; }) ||
           ArrayRef(extents) != shapeOf(input).drop_front(2);
  }

  IntegerSet inside(ArrayRef<AffineExpr> position, ArrayRef<int64_t> sizes,
                    unsigned dims) const {
    SmallVector<AffineExpr> constraints;
    SmallVector<bool> equal;
    for (size_t d = 0; d < begin.size(); ++d) {
      AffineExpr offset = position[d] - begin[d];
      constraints.append({offset, (sizes[d] - 1) * spread[d] - offset});
      equal.append({false, false});
      if (spread[d] > 1) {
        constraints.push_back(offset % spread[d]);
        equal.push_back(true);
      }
    }
    return IntegerSet::get(dims, 0, constraints, equal);
  }
};

/// The padded copy of `input`, or `input` itself if nothing changes.
Value pad(const Lowering &at, Value input, const Padding &padding,
          double fill) {
  if (!padding.changes(input))
    return input;
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<int64_t> shape(type.getShape().take_front(2));
  llvm::append_range(shape, padding.extents);
  Domain domain(at.context());
  Exprs position = domain.parallel(shape), from(position);
  for (int64_t d = 0; d < at.spatial(); ++d)
    from[2 + d] =
        (position[2 + d] - padding.begin[d]).floorDiv(padding.spread[d]);
  NestParts parts = domain.elementwise();
  IntegerSet inside =
      padding.inside(ArrayRef(position).drop_front(2),
                     type.getShape().drop_front(2), parts.dims());
  parts.thenReads = {{input, domain.thenMap(from), inside}};
  parts.outputMaps = {domain.thenMap(position)};
  parts.resultTypes = {RankedTensorType::get(shape, type.getElementType())};
  auto fillOutside = [&](OpBuilder &builder, Location location,
                         ValueRange values) {
    if (fill == 0)
      return passOn(builder, location, values);
    Value other = splat(builder, location, type.getElementType(), fill);
    Value holds = emitInside(builder, location, inside);
    return SmallVector<Value>{
        arith::SelectOp::create(builder, location, holds, values[0], other)};
  };
  return buildNest(at.builder, at.location(), parts, nullptr, fillOutside)
      .getResult(0);
}

/// The input with the window's padding.
Value padInput(const Lowering &at, Value input, double fill = 0) {
  Padding padding;
  for (int64_t d = 0; d < at.spatial(); ++d) {
    padding.begin.push_back(at.window.padsBegin[d]);
    padding.extents.push_back(shapeOf(input)[2 + d] + at.window.padsBegin[d] +
                              at.window.padsEnd[d]);
    padding.spread.push_back(1);
  }
  return pad(at, input, padding, fill);
}

bool isPadded(const Window &window) {
  auto nonzero = [](int64_t pad) { return pad != 0; };
  return llvm::any_of(window.padsBegin, nonzero) ||
         llvm::any_of(window.padsEnd, nonzero);
}

/// Builds a nest with the op's result type, written at `position`.
NestOp finish(const Lowering &at, NestParts parts, const Domain &domain,
              ArrayRef<AffineExpr> position, ScalarBody map, ScalarBody then) {
  parts.outputMaps = {domain.thenMap(position)};
  parts.resultTypes = {at.op->getResult(0).getType()};
  return buildNest(at.builder, at.location(), parts, map, then);
}

//===-- convolutions ------------------------------------------------------===//

/// The part of the lanes of vectors that a dimension fills.
double filled(int64_t extent, int64_t lanes) {
  return double(extent) / double(llvm::alignTo(extent, lanes));
}

/// Whether vectors of channels have far fewer lanes without a number than those
/// along the rows of a convolution's result. So many positions have to read a
/// weight that its copy costs little.
bool fillsByChannels(ConvolutionOp op, int64_t lanes) {
  constexpr int64_t leastPositions = 512;
  ArrayRef<int64_t> result = op.getType().getShape();
  return lanes && op.getGroups() == 1 &&
         result[0] * product(result.drop_front(2)) >= leastPositions &&
         filled(result[1], lanes) > 1.25 * filled(result.back(), lanes);
}

/// y[n, g o, p] = sum over i, k of x[n, g i, p s + k d] w[g o, i, k]
Value convolution(const Lowering &at, ConvolutionOp op, int64_t lanes) {
  int64_t groups = op.getGroups();
  ArrayRef<int64_t> result = op.getType().getShape(),
                    weight = shapeOf(op.getWeight());
  Domain domain(at.context());
  AffineExpr n = domain.parallel(result[0]), g = domain.parallel(groups);
  AffineExpr o = g * (result[1] / groups) + domain.parallel(result[1] / groups);
  Exprs p = domain.parallel(result.drop_front(2));
  AffineExpr i = domain.reduced(weight[1]);
  Exprs k = domain.reduced(at.window.size);
  NestParts parts = domain.reducing(Reduction::sum);
  Value input = padInput(at, op.getInput()), weights = op.getWeight();
  Exprs ofWeight = join({o, i}, k);
  if (fillsByChannels(op, lanes)) {
    weights =
        copyWithLast(at.builder, at.location(), weights, /*dim=*/0, result[1]);
    std::rotate(ofWeight.begin(), ofWeight.begin() + 1, ofWeight.end());
  }
  parts.mapReads = {
      {input,
       domain.map(join({n, g * weight[1] + i}, paddedIndex(at.window, p, k))),
       {}},
      {weights, domain.map(ofWeight), {}}};
  return finish(at, parts, domain, join({n, o}, p), multiplyWide,
                roundTo(op.getType()))
      .getResult(0);
}

/// The result's gradient, dilated by the stride and padded, so that dx[q] is
/// the sum over k of it[q + (K - 1 - k) d] w[k].
Value padGradient(const Lowering &at, Value gradient, ArrayRef<int64_t> input) {
  Padding padding;
  for (int64_t d = 0; d < at.spatial(); ++d) {
    int64_t reach = at.window.reach(d) - 1;
    padding.begin.push_back(reach - at.window.padsBegin[d]);
    padding.extents.push_back(input[2 + d] + reach);
    padding.spread.push_back(at.window.strides[d]);
  }
  return pad(at, gradient, padding, 0);
}

/// dx[n, g i, q] = sum over o, k of dy[n, g o, q + (K - 1 - k) d] w[g o, i, k]
Value convolutionBackwardData(const Lowering &at,
                              ConvolutionBackwardDataOp op) {
  int64_t groups = op.getGroups();
  ArrayRef<int64_t> input = op.getType().getShape(),
                    weight = shapeOf(op.getWeight());
  Domain domain(at.context());
  AffineExpr n = domain.parallel(input[0]), g = domain.parallel(groups);
  AffineExpr i = domain.parallel(weight[1]);
  Exprs q = domain.parallel(input.drop_front(2));
  AffineExpr o = g * (weight[0] / groups) + domain.reduced(weight[0] / groups);
  Exprs k = domain.reduced(at.window.size), from;
  for (int64_t d = 0; d < at.spatial(); ++d)
    from.push_back(q[d] +
                   (at.window.size[d] - 1 - k[d]) * at.window.dilations[d]);
  NestParts parts = domain.reducing(Reduction::sum);
  Value gradient = padGradient(at, op.getGradient(), input);
  parts.mapReads = {{gradient, domain.map(join({n, o}, from)), {}},
                    {op.getWeight(), domain.map(join({o, i}, k)), {}}};
  return finish(at, parts, domain, join({n, g * weight[1] + i}, q),
                multiplyWide, roundTo(op.getType()))
      .getResult(0);
}

/// dw[g o, i, k] = sum over n, p of x[n, g i, p s + k d] dy[n, g o, p]
Value convolutionBackwardWeights(const Lowering &at,
                                 ConvolutionBackwardWeightsOp op) {
  int64_t groups = op.getGroups();
  ArrayRef<int64_t> weight = op.getType().getShape(),
                    result = shapeOf(op.getGradient());
  Domain domain(at.context());
  AffineExpr g = domain.parallel(groups);
  AffineExpr o = g * (weight[0] / groups) + domain.parallel(weight[0] / groups);
  AffineExpr i = domain.parallel(weight[1]);
  Exprs k = domain.parallel(at.window.size);
  AffineExpr n = domain.reduced(result[0]);
  Exprs p = domain.reduced(result.drop_front(2));
  NestParts parts = domain.reducing(Reduction::sum);
  Value input = padInput(at, op.getInput());
  parts.mapReads = {
      {input,
       domain.map(join({n, g * weight[1] + i}, paddedIndex(at.window, p, k))),
       {}},
      {op.getGradient(), domain.map(join({n, o}, p)), {}}};
  return finish(at, parts, domain, join({o, i}, k), multiplyWide,
                roundTo(op.getType()))
      .getResult(0);
}

//===-- pooling -----------------------------------------------------------===//

/// The domain of pooling: a point for each element of the result, reduced over
/// its window.
struct PoolDomain {
  Domain domain;
  Exprs position, tap;

  PoolDomain(const Lowering &at, ArrayRef<int64_t> result)
      : domain(at.context()) {
    position = domain.parallel(result);
    tap = domain.reduced(at.window.size);
  }
  ArrayRef<AffineExpr> output() const {
    return ArrayRef(position).drop_front(2);
  }
  /// The index of a tap in the padded input.
  Exprs from(const Window &window) const {
    return join(ArrayRef(position).take_front(2),
                paddedIndex(window, output(), tap));
  }
};

/// The row-major number of a tap in its window.
AffineExpr tapNumber(const Window &window, ArrayRef<AffineExpr> tap,
                     AffineExpr zero) {
  AffineExpr number = zero;
  for (int64_t d = 0; d < window.rank(); ++d)
    number = number * window.size[d] + tap[d];
  return number;
}

Value asI32(OpBuilder &builder, Location location, AffineExpr number) {
  return arith::TruncIOp::create(builder, location, builder.getI32Type(),
                                 emitAffine(builder, location, number));
}

/// The number of the first tap that equals the maximum; a NaN counts as equal.
Value firstLargest(const Lowering &at, Value input, Value largest) {
  PoolDomain pool(at, shapeOf(largest));
  NestParts parts = pool.domain.reducing(Reduction::min);
  parts.mapReads = {{input, pool.domain.map(pool.from(at.window)), {}},
                    {largest, pool.domain.map(pool.position), {}}};
  AffineExpr number = tapNumber(at.window, pool.tap, pool.domain.constant(0));
  auto number_or_more = [&](OpBuilder &builder, Location location,
                            ValueRange values) {
    Value is = arith::CmpFOp::create(
        builder, location, arith::CmpFPredicate::OEQ, values[0], values[1]);
    Value nan = arith::CmpFOp::create(
        builder, location, arith::CmpFPredicate::UNO, values[0], values[0]);
    Value found = arith::OrIOp::create(builder, location, is, nan);
    Value none =
        splat(builder, location, builder.getI32Type(), product(at.window.size));
    Value here = asI32(builder, location, number);
    return SmallVector<Value>{
        arith::SelectOp::create(builder, location, found, here, none)};
  };
  parts.outputMaps = {pool.domain.thenMap(pool.position)};
  parts.resultTypes = {at.op->getResult(1).getType()};
  return buildNest(at.builder, at.location(), parts, number_or_more, passOn)
      .getResult(0);
}

SmallVector<Value> maxPool(const Lowering &at, MaxPoolOp op) {
  Value input =
      padInput(at, op.getInput(), -std::numeric_limits<double>::infinity());
  PoolDomain pool(at, shapeOf(op.getResult()));
  NestParts parts = pool.domain.reducing(Reduction::max);
  parts.mapReads = {{input, pool.domain.map(pool.from(at.window)), {}}};
  Value largest = finish(at, parts, pool.domain, pool.position, passOn, passOn)
                      .getResult(0);
  if (op.getIndices().use_empty())
    return {largest, Value()};
  return {largest, firstLargest(at, input, largest)};
}

/// Whether windows are adjacent without padding, so that an input element
/// belongs to at most one.
bool isTiling(const Window &window) {
  return window.size == window.strides && !isPadded(window) &&
         llvm::all_of(window.dilations, [](int64_t d) { return d == 1; });
}

/// For a gradient of pooling: the result to which an input element belongs by a
/// tap, and the condition for it.
struct Owner {
  Exprs output, tap;
  SmallVector<AffineExpr> constraints;
  SmallVector<bool> equal;

  /// The owner for adjacent windows: the position determines window and tap.
  static Owner ofTile(const Window &window, ArrayRef<AffineExpr> q,
                      ArrayRef<int64_t> input, ArrayRef<int64_t> results) {
    Owner owner;
    for (int64_t d = 0; d < window.rank(); ++d) {
      owner.output.push_back(q[d].floorDiv(window.size[d]));
      owner.tap.push_back(q[d] % window.size[d]);
      if (results[d] * window.size[d] < input[d])
        owner.require(results[d] * window.size[d] - 1 - q[d]);
    }
    return owner;
  }

  /// The owner for any windows: position `q` is tap `k` of the window at (q +
  /// pad - k d) / s if that is an integer and such a window exists.
  static Owner ofTap(const Window &window, ArrayRef<AffineExpr> q,
                     ArrayRef<AffineExpr> k, ArrayRef<int64_t> results) {
    Owner owner;
    for (int64_t d = 0; d < window.rank(); ++d) {
      int64_t stride = window.strides[d];
      AffineExpr start =
          q[d] + window.padsBegin[d] - k[d] * window.dilations[d];
      owner.output.push_back(start.floorDiv(stride));
      owner.tap.push_back(k[d]);
      owner.require(start);
      owner.require((results[d] - 1) * stride - start);
      if (stride > 1)
        owner.require(start % stride, /*isZero=*/true);
    }
    return owner;
  }

  void require(AffineExpr expression, bool isZero = false) {
    constraints.push_back(expression);
    equal.push_back(isZero);
  }

  IntegerSet guard(unsigned dims) const {
    return constraints.empty() ? IntegerSet()
                               : IntegerSet::get(dims, 0, constraints, equal);
  }
};

/// dx[q] = the sum, over the windows that contain q, of `share` for the
/// window's elements of `sources` and the number of q's tap.
Value poolBackward(
    const Lowering &at, ArrayRef<Value> sources,
    function_ref<Value(OpBuilder &, ValueRange, AffineExpr)> share) {
  ArrayRef<int64_t> input = shapeOf(at.op->getResult(0));
  ArrayRef<int64_t> results = shapeOf(sources[0]).drop_front(2);
  Domain domain(at.context());
  Exprs position = domain.parallel(input);
  auto q = ArrayRef(position).drop_front(2);
  bool tiling = isTiling(at.window);
  Owner owner =
      tiling
          ? Owner::ofTile(at.window, q, input.drop_front(2), results)
          : Owner::ofTap(at.window, q, domain.reduced(at.window.size), results);
  NestParts parts =
      tiling ? domain.elementwise() : domain.reducing(Reduction::sum);
  Exprs from = join(ArrayRef(position).take_front(2), owner.output);
  for (Value source : sources)
    (tiling ? parts.thenReads : parts.mapReads)
        .push_back({source, tiling ? domain.thenMap(from) : domain.map(from),
                    owner.guard(parts.dims())});
  AffineExpr number = tapNumber(at.window, owner.tap, domain.constant(0));
  auto body = [&](OpBuilder &builder, Location, ValueRange values) {
    return SmallVector<Value>{share(builder, values, number)};
  };
  if (tiling)
    return finish(at, parts, domain, position, nullptr, body).getResult(0);
  return finish(at, parts, domain, position, body, passOn).getResult(0);
}

/// Passes the gradient to the tap whose number was stored.
Value maxPoolBackward(const Lowering &at, MaxPoolBackwardOp op) {
  auto share = [&](OpBuilder &builder, ValueRange values, AffineExpr number) {
    Location location = at.location();
    Value here = asI32(builder, location, number);
    Value won = arith::CmpIOp::create(
        builder, location, arith::CmpIPredicate::eq, values[1], here);
    Value zero = splat(builder, location, values[0].getType(), 0);
    return Value(
        arith::SelectOp::create(builder, location, won, values[0], zero));
  };
  return poolBackward(at, {op.getGradient(), op.getIndices()}, share);
}

/// Whether all windows have the same divisor, their size.
template <typename Op> bool countsAll(Op op, const Window &window) {
  return op.getCountIncludePad() || !isPadded(window);
}

/// 1 for a tap inside the input and 0 for one in the padding, as a float.
Value countTap(const Lowering &at, const PoolDomain &pool,
               ArrayRef<int64_t> input, Type type, OpBuilder &builder) {
  SmallVector<AffineExpr> constraints;
  Exprs index = paddedIndex(at.window, pool.output(), pool.tap);
  for (int64_t d = 0; d < at.spatial(); ++d) {
    AffineExpr from = index[d] - at.window.padsBegin[d];
    constraints.append({from, input[d] - 1 - from});
  }
  unsigned dims = pool.domain.reducing(Reduction::sum).dims();
  auto set = IntegerSet::get(dims, 0, constraints,
                             SmallVector<bool>(constraints.size(), false));
  Value inside = emitInside(builder, at.location(), set);
  return arith::UIToFPOp::create(builder, at.location(), type, inside);
}

Value averagePool(const Lowering &at, AveragePoolOp op) {
  Type type = op.getType().getElementType();
  bool all = countsAll(op, at.window);
  PoolDomain pool(at, op.getType().getShape());
  NestParts parts = pool.domain.reducing(Reduction::sum);
  parts.mapReads = {
      {padInput(at, op.getInput()), pool.domain.map(pool.from(at.window)), {}}};
  if (!all)
    parts.combine.push_back(Reduction::sum);
  auto map = [&](OpBuilder &builder, Location, ValueRange values) {
    SmallVector<Value> terms(values);
    if (!all)
      terms.push_back(countTap(at, pool, shapeOf(op.getInput()).drop_front(2),
                               type, builder));
    return terms;
  };
  auto divide = [&](OpBuilder &builder, Location location, ValueRange sums) {
    Value count =
        all ? splat(builder, location, type, product(at.window.size)) : sums[1];
    return SmallVector<Value>{
        arith::DivFOp::create(builder, location, sums[0], count)};
  };
  return finish(at, parts, pool.domain, pool.position, map, divide)
      .getResult(0);
}

/// Divides the gradient of each window by the number of its elements.
Value divideByCount(const Lowering &at, Value gradient,
                    ArrayRef<int64_t> input) {
  auto type = cast<RankedTensorType>(gradient.getType());
  PoolDomain pool(at, type.getShape());
  NestParts parts = pool.domain.reducing(Reduction::sum);
  parts.thenReads = {{gradient, pool.domain.thenMap(pool.position), {}}};
  parts.outputMaps = {pool.domain.thenMap(pool.position)};
  parts.resultTypes = {type};
  auto count = [&](OpBuilder &builder, Location, ValueRange) {
    return SmallVector<Value>{countTap(at, pool, input.drop_front(2),
                                       type.getElementType(), builder)};
  };
  auto divide = [](OpBuilder &builder, Location location, ValueRange values) {
    return SmallVector<Value>{
        arith::DivFOp::create(builder, location, values[1], values[0])};
  };
  return buildNest(at.builder, at.location(), parts, count, divide)
      .getResult(0);
}

Value averagePoolBackward(const Lowering &at, AveragePoolBackwardOp op) {
  bool all = countsAll(op, at.window);
  Value gradient = op.getGradient();
  if (!all)
    gradient = divideByCount(at, gradient, op.getType().getShape());
  auto share = [&](OpBuilder &builder, ValueRange values, AffineExpr) {
    if (!all)
      return values[0];
    Value part = splat(builder, at.location(), values[0].getType(),
                       1.0 / product(at.window.size));
    return Value(
        arith::MulFOp::create(builder, at.location(), values[0], part));
  };
  return poolBackward(at, gradient, share);
}

ArrayRef<int64_t> kernelOf(Value weight) {
  return shapeOf(weight).drop_front(2);
}

} // namespace

SmallVector<Value> lowerWindowOp(OpBuilder &builder, Operation *op,
                                 int64_t lanes) {
  using Values = SmallVector<Value>;
  return llvm::TypeSwitch<Operation *, Values>(op)
      .Case([&](ConvolutionOp conv) -> Values {
        return {convolution(
            {builder, op, windowOf(conv, kernelOf(conv.getWeight()))}, conv,
            lanes)};
      })
      .Case([&](ConvolutionBackwardDataOp conv) -> Values {
        return {convolutionBackwardData(
            {builder, op, windowOf(conv, kernelOf(conv.getWeight()))}, conv)};
      })
      .Case([&](ConvolutionBackwardWeightsOp conv) -> Values {
        return {convolutionBackwardWeights(
            {builder, op, windowOf(conv, kernelOf(conv.getResult()))}, conv)};
      })
      .Case([&](MaxPoolOp pool) {
        return maxPool({builder, op, windowOf(pool)}, pool);
      })
      .Case([&](MaxPoolBackwardOp pool) -> Values {
        return {maxPoolBackward({builder, op, windowOf(pool)}, pool)};
      })
      .Case([&](AveragePoolOp pool) -> Values {
        return {averagePool({builder, op, windowOf(pool)}, pool)};
      })
      .Case([&](AveragePoolBackwardOp pool) -> Values {
        return {averagePoolBackward({builder, op, windowOf(pool)}, pool)};
      })
      .Default(Values());
}

} // namespace gradus
