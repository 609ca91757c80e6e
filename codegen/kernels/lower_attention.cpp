// Lowers attention to kernels. An item is a head, or a part of one, and
// processes the scores tile by tile: those of one tile stay in the cache, and
// no others are stored. With up to about 1,024 keys a tile has them all, and
// the probabilities of its queries are computed at once. With more keys each
// tile adds to running sums over exponentials, which are rescaled when a tile
// has a larger score than all before (Milakov and Gimelshein,
// arXiv:1805.02867).
//
// The matmuls of a tile are ordinary nests. Keys and values are transposed once
// per tile for all queries, because a matmul with both operands contiguous
// along the contracted dimension takes 1.5 times as long.

#include "codegen/kernels/attention_tiles.h"
#include "codegen/kernels/kernel_writer.h"
#include "codegen/kernels/lower_to_kernels.h"
#include "ir/dropout.h"
#include "ir/ops/random_bits.h"

#include <limits>

namespace gradus {
using namespace mlir;
using plan::KernelOp;
using plan::LaunchOp;

namespace {

using FloatIs = arith::CmpFPredicate;
using IntegerIs = arith::CmpIPredicate;

constexpr double kNone = -std::numeric_limits<double>::infinity();
/// The initial maximum score of a query: finite, since -inf minus -inf is NaN.
constexpr double kUnmet = -std::numeric_limits<float>::max();

/// Builds the nests of one kernel.
class AttentionKernel : public KernelWriter {
public:
  template <typename Op>
  AttentionKernel(Op op, const AttentionTiles &tiles, ValueRange operands,
                  TypeRange results)
      : KernelWriter(op.getContext(), operands.getTypes(), results,
                     tiles.parts * shapeOf(operands[0])[0]),
        sizes_(op.getQuery(), op.getValue()), tiles_(tiles),
        causal_(op.getCausal()), scale_(op.getScale().convertToDouble()),
        element_(tensorType(op.getQuery()).getElementType()),
        seed_(op.getSeed()) {
    unsigned last = operands.size();
    if (op.getStep()) {
      stream_ = operand(--last);
      if (op.getFirst())
        first_ = operand(--last);
      step_ = operand(--last);
      dropping_.ratio = op.getDropout()->convertToDouble();
    }
    if (op.getMask())
      mask_ = operand(--last);
  }

  KernelOp forward() {
    tiles_.inOneGo ? forwardInOneGo() : forwardByTiles();
    return finished();
  }
  KernelOp backward() {
    tiles_.inOneGo ? backwardInOneGo() : backwardByTiles();
    return finished();
  }

private:
  using KernelWriter::product;
  /// The queries and keys of a tile's scores.
  struct Tile {
    Span queries, keys;
  };

  AffineExpr head() {
    return tiles_.parts == 1 ? item() : item().floorDiv(tiles_.parts);
  }
  /// The item's own part of all queries or keys.
  Span ownOf(int64_t all) {
    int64_t size = all / tiles_.parts;
    return {(item() % tiles_.parts) * size, size};
  }
  /// Row x0 of a tensor of queries or keys, or an element of such a vector.
  At rowsOf(Value buffer, Span span) {
    return {buffer, {head(), span.start + x(0)}};
  }
  At scoresOf(Value buffer) { return {buffer, {x(0), x(1)}}; }

  Value scratchOf(ArrayRef<int64_t> shape) { return scratch(shape, element_); }
  Value turnable(int64_t width) {
    // The padding avoids rows at distances of a power of two, which would share
    // few sets of the cache.
    return scratchOf({width, tiles_.keys + 16});
  }
  void turn(Value rows, Span span, Value into);
  At maskAt(const Tile &tile);
  Value masked(const Scalars &s, Value product, Value mask, const Tile &tile);
  void dropped(const Tile &tile, Value from, Value to);

  void forwardInOneGo();
  void normalize(const Tile &tile, Value scores, Value kept, Value inverse);
  void forwardByTiles();
  void meet(const Tile &tile, Value turnedKey, Value scores, Value shrink);
  void settle(Span queries);
  void scores(const Tile &tile, Value turnedKey, Value out);

  void backwardInOneGo();
  void backwardByTiles();
  struct Turned {
    Value key, value, weights, kept;
  };
  Turned turnedKeys();
  void turn(Span keys, const Turned &turned);
  void slopes(const Tile &tile, const Turned &turned, bool addsToQueries,
              bool addsToKeys);
  void addUp(const Tile &tile, Value weights, Value rows, int64_t width,
             Value out, bool adds);

  AttentionSizes sizes_;
  AttentionTiles tiles_;
  bool causal_;
  double scale_;
  Type element_;
  int64_t seed_;
  Dropping dropping_{0};
  Value mask_, step_, first_, stream_;
};

/// Transposes [keys, width] to [width, keys].
void AttentionKernel::turn(Value rows, Span span, Value into) {
  nest({{shapeOf(into)[0], span.size}}, {},
       At{rows, {head(), span.start + x(1), x(0)}}, scoresOf(into),
       [](const Scalars &, ValueRange values) {
         return SmallVector<Value>{values[0]};
       });
}

/// The sum of two values, or the only one.
Value added(const Scalars &s, ValueRange values) {
  return values.size() > 1 ? s.add(values[0], values[1]) : values[0];
}

//===-- scores ------------------------------------------------------------===//

/// The element of the mask for query x0 and key x1 of a tile.
At AttentionKernel::maskAt(const Tile &tile) {
  AffineExpr full[] = {head().floorDiv(sizes_.heads), head() % sizes_.heads,
                       tile.queries.start + x(0), tile.keys.start + x(1)};
  At at{mask_, {}};
  for (auto [size, place] : llvm::zip(shapeOf(mask_), full))
    at.place.push_back(size == 1 ? constant(0) : place);
  return at;
}

/// Scales a dot product of query and key, and applies the masks.
Value AttentionKernel::masked(const Scalars &s, Value product, Value mask,
                              const Tile &tile) {
  Value score = s.multiply(product, s.number(scale_, product)),
        none = s.number(kNone, product);
  if (mask && isa<FloatType>(mask.getType()))
    score = s.add(score, mask);
  else if (mask)
    score = s.select(mask, score, none);
  if (!causal_)
    return score;
  Value seen = s.compare(IntegerIs::sle, s.index(tile.keys.start + x(1)),
                         s.index(tile.queries.start + x(0)));
  return s.select(seen, score, none);
}

/// Applies dropout to a tile of per-score values and rescales the survivors.
void AttentionKernel::dropped(const Tile &tile, Value from, Value to) {
  AffineExpr row = head() * sizes_.queries + tile.queries.start + x(0),
             place = row * sizes_.keys + tile.keys.start + x(1);
  SmallVector<At> reads = {scoresOf(from), At{step_, {}}, At{stream_, {}}};
  if (first_)
    reads.push_back(At{first_, {}});
  nest({{tile.queries.size, tile.keys.size}}, {}, reads, scoresOf(to),
       [&](const Scalars &s, ValueRange values) {
         Value at = s.index(place);
         if (first_)
           at = arith::AddIOp::create(s.builder, s.loc, at, values[3]);
         Value bits =
             buildRandomBits(s.builder, s.loc, at, values[1], values[2], seed_);
         Value limit =
             splat(s.builder, s.loc, bits.getType(), dropping_.limit());
         Value larger =
             s.multiply(values[0], s.number(dropping_.factor(), values[0]));
         return SmallVector<Value>{
             s.select(s.compare(IntegerIs::slt, bits, limit),
                      s.number(0, larger), larger)};
       });
}

void AttentionKernel::scores(const Tile &tile, Value turnedKey, Value out) {
  product(tile.queries.size, tile.keys.size, sizes_.width,
          {operand(0), {head(), tile.queries.start + x(0), x(2)}},
          {turnedKey, {x(2), x(1)}},
          mask_ ? SmallVector<At>{maskAt(tile)} : SmallVector<At>(),
          scoresOf(out), [&](const Scalars &s, ValueRange values) {
            return masked(s, values[0], mask_ ? values[1] : Value(), tile);
          });
}

//===-- forward: query, key, value, (mask,) (step,) to result, logsumexp, -===//
// remainder

/// The logsumexp and its remainder: the part lost by rounding.
SmallVector<Value> logarithms(const Scalars &s, Value largest, Value total) {
  Value logarithm = s.logarithm(total), rounded = s.add(largest, logarithm);
  return {rounded, s.subtract(logarithm, s.subtract(rounded, largest))};
}

/// Replaces the scores by exp(score - maximum). Sets `kept` to 1, or 0 for a
/// query that attends to no key, and `inverse` to 1 / sum; result 1 temporarily
/// holds the maximum.
void AttentionKernel::normalize(const Tile &tile, Value scores, Value kept,
                                Value inverse) {
  At every = scoresOf(scores), atKept{kept, {x(0)}}, atInverse{inverse, {x(0)}},
     largest = rowsOf(result(1), tile.queries),
     remainder = rowsOf(result(2), tile.queries);
  int64_t queries = tile.queries.size, keys = tile.keys.size;
  At line{scores, {x(0), x(1)}};
  nest({{queries}, keys, Reduction::max}, line, {}, {largest, atKept},
       [](const Scalars &s, ValueRange values) {
         Value largest = values[0], zero = s.number(0, largest);
         Value isAlone =
             s.compare(FloatIs::OEQ, largest, s.number(kNone, largest));
         return SmallVector<Value>{
             s.select(isAlone, zero, largest),
             s.select(isAlone, zero, s.number(1, largest))};
       });
  nest({{queries, keys}}, {}, {every, largest}, every,
       [](const Scalars &s, ValueRange values) {
         return SmallVector<Value>{
             s.exponential(s.subtract(values[0], values[1]))};
       });
  nest({{queries}, keys}, line, {largest, atKept},
       {atInverse, largest, remainder},
       [](const Scalars &s, ValueRange values) {
         Value sum = values[0], kept = values[2];
         Value missing = s.subtract(s.number(1, kept), kept);
         Value total = s.add(sum, missing);
         SmallVector<Value> found = {s.divide(kept, total)};
         llvm::append_range(found, logarithms(s, values[1], total));
         return found;
       });
}

void AttentionKernel::forwardInOneGo() {
  Span all{constant(0), sizes_.keys};
  Value turnedKey = turnable(sizes_.width),
        weights = scratchOf({tiles_.rows, sizes_.keys}),
        kept = scratchOf(tiles_.rows), inverse = scratchOf(tiles_.rows);
  turn(operand(1), all, turnedKey);
  for (const QueryBlock &block : blocksOf(sizes_, tiles_.rows, causal_)) {
    Tile tile{{constant(block.start), block.rows}, {constant(0), block.keys}};
    scores(tile, turnedKey, weights);
    normalize(tile, weights, kept, inverse);
    if (step_)
      dropped(tile, weights, weights);
    product(block.rows, sizes_.depth, block.keys, {weights, {x(0), x(2)}},
            {operand(2), {head(), x(2), x(1)}}, At{inverse, {x(0)}},
            {result(0), {head(), block.start + x(0), x(1)}},
            [](const Scalars &s, ValueRange values) {
              return s.multiply(values[0], values[1]);
            });
  }
}

/// Until `settle` runs, result 1 holds the largest score so far, result 2 the
/// sum of exp(score - largest), and result 0 the sum of values with these
/// weights.
void AttentionKernel::forwardByTiles() {
  Span own = ownOf(sizes_.queries);
  Value turnedKey = turnable(sizes_.width),
        weights = scratchOf({tiles_.rows, tiles_.keys}),
        shrink = scratchOf(tiles_.rows);
  fill({own.size}, rowsOf(result(1), own), kUnmet);
  fill({own.size}, rowsOf(result(2), own), 0);
  fill({own.size, sizes_.depth}, {result(0), {head(), own.start + x(0), x(1)}},
       0);
  AffineExpr seen = causal_
                        ? (own.start + (own.size - 1)).floorDiv(tiles_.keys) + 1
                        : AffineExpr();
  forTiles({constant(0), sizes_.keys}, tiles_.keys, {}, seen, [&](Span keys) {
    turn(operand(1), keys, turnedKey);
    AffineExpr first =
        causal_ ? (keys.start - own.start).floorDiv(tiles_.rows) : AffineExpr();
    forTiles(own, tiles_.rows, first, {}, [&](Span queries) {
      meet({queries, keys}, turnedKey, weights, shrink);
    });
  });
  settle(own);
}

/// Adds a tile's keys to the running sums of its queries. `shrink` is scratch
/// for the factors that rescale the earlier sums.
void AttentionKernel::meet(const Tile &tile, Value turnedKey, Value weights,
                           Value shrink) {
  scores(tile, turnedKey, weights);
  int64_t queries = tile.queries.size, keys = tile.keys.size;
  At every = scoresOf(weights), factor{shrink, {x(0)}},
     largest = rowsOf(result(1), tile.queries),
     sum = rowsOf(result(2), tile.queries);
  nest({{queries}, keys, Reduction::max}, every, largest, {largest, factor},
       [](const Scalars &s, ValueRange values) {
         Value now = s.larger(values[0], values[1]);
         return SmallVector<Value>{now,
                                   s.exponential(s.subtract(values[1], now))};
       });
  nest({{queries, keys}}, {}, {every, largest}, every,
       [](const Scalars &s, ValueRange values) {
         return SmallVector<Value>{
             s.exponential(s.subtract(values[0], values[1]))};
       });
  nest({{queries}, keys}, every, {sum, factor}, sum,
       [](const Scalars &s, ValueRange values) {
         return SmallVector<Value>{
             s.add(s.multiply(values[1], values[2]), values[0])};
       });
  if (step_)
    dropped(tile, weights, weights);
  At out{result(0), {head(), tile.queries.start + x(0), x(1)}};
  product(queries, sizes_.depth, keys, {weights, {x(0), x(2)}},
          {operand(2), {head(), tile.keys.start + x(2), x(1)}}, {out, factor},
          out, [](const Scalars &s, ValueRange values) {
            return s.add(s.multiply(values[1], values[2]), values[0]);
          });
}

/// Divides by the sums. The sum of a query that attends to no key is 0, others
/// are at least 1.
void AttentionKernel::settle(Span queries) {
  At largest = rowsOf(result(1), queries), sum = rowsOf(result(2), queries);
  nest({{queries.size}}, {}, {largest, sum}, {largest, sum},
       [](const Scalars &s, ValueRange values) {
         Value zero = s.number(0, values[1]), one = s.number(1, values[1]);
         Value isAlone = s.compare(FloatIs::OEQ, values[1], zero);
         return SmallVector<Value>{s.select(isAlone, zero, values[0]),
                                   s.select(isAlone, one, values[1])};
       });
  At out{result(0), {head(), queries.start + x(0), x(1)}};
  nest({{queries.size, sizes_.depth}}, {}, {out, sum}, out,
       [](const Scalars &s, ValueRange values) {
         return SmallVector<Value>{s.divide(values[0], values[1])};
       });
  nest({{queries.size}}, {}, {largest, sum}, {largest, sum},
       [](const Scalars &s, ValueRange values) {
         return logarithms(s, values[0], values[1]);
       });
}

//===-- backward: query, key, value, logsumexp, remainder, gradient, ------===//
// delta, (mask,) (step,) to the gradients of query, key and value

AttentionKernel::Turned AttentionKernel::turnedKeys() {
  SmallVector<int64_t> tile = {tiles_.rows, tiles_.keys};
  return {turnable(sizes_.width), turnable(sizes_.depth), scratchOf(tile),
          step_ ? scratchOf(tile) : Value()};
}

void AttentionKernel::turn(Span keys, const Turned &turned) {
  turn(operand(1), keys, turned.key);
  turn(operand(2), keys, turned.value);
}

/// Adds, for each key, the weighted sum of a tile's rows.
void AttentionKernel::addUp(const Tile &tile, Value weights, Value rows,
                            int64_t width, Value out, bool adds) {
  At sum{out, {head(), tile.keys.start + x(0), x(1)}};
  product(tile.keys.size, width, tile.queries.size, {weights, {x(2), x(0)}},
          {rows, {head(), tile.queries.start + x(2), x(1)}},
          adds ? SmallVector<At>{sum} : SmallVector<At>(), sum, added);
}

/// Computes a tile's part of all gradients. Without dropout `kept` is all of
/// the probabilities.
void AttentionKernel::slopes(const Tile &tile, const Turned &turned,
                             bool addsToQueries, bool addsToKeys) {
  int64_t queries = tile.queries.size, keys = tile.keys.size;
  Value key = operand(1), gradient = operand(5), weights = turned.weights,
        kept = turned.kept ? turned.kept : weights;
  AffineExpr row = tile.queries.start + x(0);
  At every = scoresOf(weights);
  SmallVector<At> reads = {rowsOf(operand(3), tile.queries),
                           rowsOf(operand(4), tile.queries)};
  if (mask_)
    reads.push_back(maskAt(tile));
  product(queries, keys, sizes_.width, {operand(0), {head(), row, x(2)}},
          {turned.key, {x(2), x(1)}}, reads, every,
          [&](const Scalars &s, ValueRange values) {
            Value mask = mask_ ? values[3] : Value(),
                  score = masked(s, values[0], mask, tile);
            Value rest = s.subtract(s.subtract(score, values[1]), values[2]);
            // Not above 1: a large mask leaves room for much where the product
            // is summed in another order than before.
            return s.exponential(s.smaller(rest, s.number(0, rest)));
          });
  if (step_)
    dropped(tile, weights, kept);
  addUp(tile, kept, gradient, sizes_.depth, result(2), addsToKeys);
  product(queries, keys, sizes_.depth, {gradient, {head(), row, x(2)}},
          {turned.value, {x(2), x(1)}},
          {every, rowsOf(operand(6), tile.queries), scoresOf(kept)}, every,
          [&](const Scalars &s, ValueRange values) {
            Value along = values[0];
            if (step_) {
              Value zero = s.number(0, along);
              along = s.select(
                  s.compare(FloatIs::UNE, values[3], zero),
                  s.multiply(along, s.number(dropping_.factor(), along)), zero);
            }
            Value slope = s.multiply(values[1], s.subtract(along, values[2]));
            return s.multiply(slope, s.number(scale_, slope));
          });
  At out{result(0), {item(), row, x(1)}};
  product(queries, sizes_.width, keys, {weights, {x(0), x(2)}},
          {key, {head(), tile.keys.start + x(2), x(1)}},
          addsToQueries ? SmallVector<At>{out} : SmallVector<At>(), out, added);
  addUp(tile, weights, operand(0), sizes_.width, result(1), addsToKeys);
}

/// Starts with the last block, which attends to all keys: it initialises their
/// gradients, to which the others add.
void AttentionKernel::backwardInOneGo() {
  Turned turned = turnedKeys();
  turn({constant(0), sizes_.keys}, turned);
  SmallVector<QueryBlock> blocks = blocksOf(sizes_, tiles_.rows, causal_);
  bool isFirst = true;
  for (const QueryBlock &block : llvm::reverse(blocks)) {
    slopes({{constant(block.start), block.rows}, {constant(0), block.keys}},
           turned, /*addsToQueries=*/false, /*addsToKeys=*/!isFirst);
    isFirst = false;
  }
}

/// Processes an item's part of the keys. The first result is its contribution
/// to the gradients of all queries.
void AttentionKernel::backwardByTiles() {
  Span own = ownOf(sizes_.keys), all{constant(0), sizes_.queries};
  Turned turned = turnedKeys();
  fill({all.size, sizes_.width}, {result(0), {item(), x(0), x(1)}}, 0);
  for (auto [number, width] : {std::pair{1, sizes_.width}, {2, sizes_.depth}})
    fill({own.size, width}, {result(number), {head(), own.start + x(0), x(1)}},
         0);
  forTiles(own, tiles_.keys, {}, {}, [&](Span keys) {
    turn(keys, turned);
    AffineExpr first =
        causal_ ? keys.start.floorDiv(tiles_.rows) : AffineExpr();
    forTiles(all, tiles_.rows, first, {}, [&](Span queries) {
      slopes({queries, keys}, turned, true, true);
    });
  });
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
  NestParts sum = domain.reducing(Reduction::sum);
  sum.mapReads = {
      {found, domain.map({at[0] * parts + part, at[1], at[2]}), {}}};
  sum.outputMaps = {domain.thenMap(at)};
  sum.resultTypes = {tensorType(found).clone(shape)};
  auto same = [](OpBuilder &, Location, ValueRange values) {
    return SmallVector<Value>(values);
  };
  plan::NestOp nest = buildNest(builder, loc, sum, same, same);
  setLabel(nest, "attention_backward");
  return nest.getResult(0);
}

template <typename Op>
SmallVector<Value> launch(OpBuilder &builder, Op op, KernelTable &kernels,
                          StringRef label, int64_t products) {
  constexpr bool isForward = std::is_same_v<Op, AttentionOp>;
  AttentionSizes sizes(op.getQuery(), op.getValue());
  if (!sizes.fitsAKernel())
    return {};
  AttentionTiles tiles(sizes, op.getCausal(), /*ofKeys=*/!isForward);
  SmallVector<Value> operands = operandsOf(builder, op);
  SmallVector<Type> types = typesOf(op, tiles);
  AttentionKernel code(op, tiles, operands, types);
  KernelOp kernel =
      kernels.add(isForward ? code.forward() : code.backward(), label);
  int64_t heads = sizes.batch * sizes.heads,
          flops = heads * scoresMet(sizes, tiles, op.getCausal()) * products *
                  (sizes.width + sizes.depth);
  auto made =
      LaunchOp::create(builder, op.getLoc(), types, kernel.getSymName(),
                       operands, ArrayRef<int64_t>{heads * tiles.parts},
                       /*grain=*/1, SmallVector<int64_t>(types.size(), -1),
                       flops, builder.getStringAttr(label));
  SmallVector<Value> found(made.getResults()), results;
  if (tiles.parts > 1 && !isForward)
    found[0] = sumOfParts(builder, op.getLoc(), found[0], tiles.parts);
  for (auto [result, type] : llvm::zip(found, op->getResultTypes()))
    results.push_back(reshape(builder, op.getLoc(), result,
                              cast<RankedTensorType>(type).getShape()));
  return results;
}

} // namespace

SmallVector<Value> lowerToKernel(OpBuilder &builder, AttentionOp op,
                                 KernelTable &kernels) {
  return launch(builder, op, kernels, "attention", 2);
}

SmallVector<Value> lowerToKernel(OpBuilder &builder, AttentionBackwardOp op,
                                 KernelTable &kernels) {
  return launch(builder, op, kernels, "attention_backward", 5);
}

} // namespace gradus
