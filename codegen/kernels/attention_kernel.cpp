// Writes the kernels of attention. An item is a head, or a part of one, and
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
//
// Matmuls of queries, keys and values that are bf16 read pairs of them: two
// neighbours along the contracted dimension are one element of 32 bits. If that
// is the last dimension of a buffer they are neighbours in memory; else the
// buffer is packed first, two rows at a time.

#include "codegen/kernels/attention_kernel.h"

#include "codegen/kernels/kernel_writer.h"
#include "ir/dropout.h"
#include "ir/ops/random_bits.h"

#include <limits>

namespace gradus {
using namespace mlir;
using plan::KernelOp;

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
        element_(getElementTypeOrSelf(results[0])),
        pairs_(tensorType(operands[0]).getElementType().isBF16()),
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
    prepareRounded();
    tiles_.inOneGo ? forwardInOneGo() : forwardByTiles();
    return finished();
  }
  KernelOp backward() {
    prepareRounded();
    tiles_.inOneGo ? backwardInOneGo() : backwardByTiles();
    return finished();
  }

private:
  using KernelWriter::product;
  /// The queries and keys of a tile's scores. A causal mask may hide none.
  struct Tile {
    Span queries, keys;
    bool isSeen = false; // wholly
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
  /// Scratch for what matmuls read: f32, or pairs.
  Value factors(ArrayRef<int64_t> shape) {
    return scratch(shape, pairs_ ? IntegerType::get(element_.getContext(), 32)
                                 : element_);
  }
  Value turnable(int64_t width) {
    // The padding avoids rows at distances of a power of two, which would share
    // few sets of the cache.
    return factors({contracted(width), tiles_.keys + 16});
  }
  /// The elements along a contracted dimension, which may be pairs.
  int64_t contracted(int64_t size) const {
    return pairs_ ? llvm::divideCeil(size, 2) : size;
  }
  /// A buffer whose last dimension is contracted.
  Value alongLast(Value buffer) { return pairs_ ? pairs(buffer) : buffer; }
  Value stackable(int64_t rows, int64_t width) {
    return pairs_ ? factors({contracted(rows), width}) : Value();
  }
  void stack(Value rows, Span span, int64_t width, Value into);
  /// Row x2, or rows 2 x2 and 2 x2 + 1, which `stack` has packed in `stacked`.
  At rowsAlong(Value rows, Span span, Value stacked) {
    return pairs_ ? At{stacked, {x(2), x(1)}}
                  : At{rows, {head(), span.start + x(2), x(1)}};
  }
  void prepareRounded();
  Value roundedOr(Value weights) { return pairs_ ? rounded_ : weights; }
  void turn(Value rows, Span span, Value into);
  At maskAt(const Tile &tile);
  Value masked(const Scalars &s, Value product, Value mask, const Tile &tile);
  SmallVector<Tile> partsOf(const Tile &tile);
  void dropped(const Tile &tile, Value from, Value to);

  void forwardInOneGo();
  void exponentials(const Tile &tile, Value scores, At largest);
  void normalize(const Tile &tile, Value scores, Value kept, Value inverse);
  void forwardByTiles();
  void meet(const Tile &tile, Value turnedKey, Value stacked, Value weights,
            Value shrink);
  void settle(Span queries);
  void scores(const Tile &tile, Value turnedKey, Value out,
              ArrayRef<At> reads = {}, Code then = nullptr);

  void backwardInOneGo();
  void backwardByTiles();
  /// Scratch of the backward pass. The stacks are for pairs alone.
  struct Turned {
    Value key, value, weights, kept;
    Value stackedKey, stackedRows, stackedWeights;
  };
  Turned turnedKeys();
  void turn(Span keys, const Turned &turned);
  void slopes(const Tile &tile, const Turned &turned, bool addsToQueries,
              bool addsToKeys);
  void addUp(const Tile &tile, const Turned &turned, Value weights, Value rows,
             Value out, bool adds);

  AttentionSizes sizes_;
  AttentionTiles tiles_;
  bool causal_;
  double scale_;
  Type element_;
  bool pairs_;
  int64_t seed_;
  Dropping dropping_{0};
  Value mask_, step_, first_, stream_;
  /// A tile of what matmuls read in bf16 along the keys; null without pairs.
  Value rounded_;
};

//===-- operands of matmuls -----------------------------------------------===//

/// Transposes [keys, width] to [width, keys].
void AttentionKernel::turn(Value rows, Span span, Value into) {
  nest({{shapeOf(into)[0], span.size}}, {},
       At{alongLast(rows), {head(), span.start + x(1), x(0)}}, scoresOf(into),
       [](const Scalars &, ValueRange values) {
         return SmallVector<Value>{values[0]};
       });
}

/// A number rounded to bf16.
Value narrow(const Scalars &s, Value x) {
  Type type = s.builder.getBF16Type();
  return x.getType() == type ? x : s.make<arith::TruncFOp>(type, x);
}

/// Packs two rows at a time, of a tensor of heads or of scratch: a pair has an
/// element of each. The last of an odd number of rows is paired with zeros.
void AttentionKernel::stack(Value rows, Span span, int64_t width, Value into) {
  if (!pairs_)
    return;
  auto at = [&](AffineExpr row) -> At {
    if (shapeOf(rows).size() == 2)
      return {rows, {span.start + row, x(1)}};
    return {rows, {head(), span.start + row, x(1)}};
  };
  At low = at(x(0) * 2), high = at(x(0) * 2 + 1);
  if (span.size % 2)
    high.inside = {constant(span.size - 2) - x(0) * 2};
  nest({{contracted(span.size), width}}, {}, {low, high}, scoresOf(into),
       [](const Scalars &s, ValueRange values) {
         return SmallVector<Value>{
             s.pair(narrow(s, values[0]), narrow(s, values[1]))};
       });
}

/// Makes the buffer of rounded numbers, with zeros at first if keys are odd. A
/// matmul reads one number more of each row then and multiplies it by the zeros
/// behind the last key, so it must be finite.
void AttentionKernel::prepareRounded() {
  if (!pairs_)
    return;
  int64_t keys = llvm::alignTo(tiles_.keys, 2);
  rounded_ =
      scratch({tiles_.rows, keys}, BFloat16Type::get(element_.getContext()));
  if (tiles_.keys % 2 || sizes_.keys / tiles_.parts % 2 || sizes_.keys % 2)
    fill({tiles_.rows, keys}, scoresOf(rounded_), 0);
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
  if (!causal_ || tile.isSeen)
    return score;
  AffineExpr key = tile.keys.start + x(1), query = tile.queries.start + x(0);
  if (tile.keys.start == tile.queries.start) // the same code for all of them
    key = x(1), query = x(0);
  return s.select(s.compare(IntegerIs::sle, s.index(key), s.index(query)),
                  score, none);
}

/// Parts of a tile of which a causal mask is applied to the last alone: keys
/// before the first query are seen by all.
SmallVector<AttentionKernel::Tile> AttentionKernel::partsOf(const Tile &tile) {
  auto query = dyn_cast<AffineConstantExpr>(tile.queries.start),
       key = dyn_cast<AffineConstantExpr>(tile.keys.start);
  int64_t seen = query && key ? query.getValue() - key.getValue() : 0;
  if (!causal_ || seen <= 0 || seen >= tile.keys.size)
    return {tile};
  return {{tile.queries, {tile.keys.start, seen}, /*isSeen=*/true},
          {tile.queries, {tile.queries.start, tile.keys.size - seen}}};
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
         Value kept = s.select(s.compare(IntegerIs::slt, bits, limit),
                               s.number(0, larger), larger);
         return SmallVector<Value>{to == rounded_ ? narrow(s, kept) : kept};
       });
}

/// Computes a tile of scores, or what `then` makes of each and of what it
/// reads.
void AttentionKernel::scores(const Tile &tile, Value turnedKey, Value out,
                             ArrayRef<At> reads, Code then) {
  for (const Tile &part : partsOf(tile)) {
    SmallVector<At> all(reads);
    if (mask_)
      all.push_back(maskAt(part));
    AffineExpr key = part.keys.start - tile.keys.start + x(1);
    product(part.queries.size, part.keys.size, contracted(sizes_.width),
            {alongLast(operand(0)), {head(), part.queries.start + x(0), x(2)}},
            {turnedKey, {x(2), key}}, all, {out, {x(0), key}},
            [&](const Scalars &s, ValueRange values) {
              SmallVector<Value> read(values.take_front(1 + reads.size()));
              Value mask = mask_ ? values.back() : Value();
              read[0] = masked(s, values[0], mask, part);
              return then ? then(s, read) : read[0];
            });
  }
}

//===-- forward: query, key, value, (mask,) (step,) to result, logsumexp, -===//
// remainder

/// The logsumexp and its remainder: the part lost by rounding.
SmallVector<Value> logarithms(const Scalars &s, Value largest, Value total) {
  Value logarithm = s.logarithm(total), rounded = s.add(largest, logarithm);
  return {rounded, s.subtract(logarithm, s.subtract(rounded, largest))};
}

/// Replaces the scores by exp(score - maximum), and rounds these for the matmul
/// with the values; sums are of what is not rounded.
void AttentionKernel::exponentials(const Tile &tile, Value scores, At largest) {
  At every = scoresOf(scores);
  SmallVector<At> outs = {every};
  bool rounds = pairs_ && !step_; // or dropout does
  if (rounds)
    outs.push_back(scoresOf(rounded_));
  nest({{tile.queries.size, tile.keys.size}}, {}, {every, largest}, outs,
       [&](const Scalars &s, ValueRange values) {
         Value weight = s.exponential(s.subtract(values[0], values[1]));
         SmallVector<Value> found = {weight};
         if (rounds)
           found.push_back(narrow(s, weight));
         return found;
       });
}

/// Replaces the scores by exponentials. Sets `kept` to 1, or 0 for a
/// query that attends to no key, and `inverse` to 1 / sum; result 1 temporarily
/// holds the maximum.
void AttentionKernel::normalize(const Tile &tile, Value scores, Value kept,
                                Value inverse) {
  At atKept{kept, {x(0)}}, atInverse{inverse, {x(0)}},
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
  exponentials(tile, scores, largest);
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
        kept = scratchOf(tiles_.rows), inverse = scratchOf(tiles_.rows),
        values = stackable(sizes_.keys, sizes_.depth);
  turn(operand(1), all, turnedKey);
  stack(operand(2), all, sizes_.depth, values);
  for (const QueryBlock &block : blocksOf(sizes_, tiles_.rows, causal_)) {
    Tile tile{{constant(block.start), block.rows}, {constant(0), block.keys}};
    scores(tile, turnedKey, weights);
    normalize(tile, weights, kept, inverse);
    if (step_)
      dropped(tile, weights, roundedOr(weights));
    product(block.rows, sizes_.depth, contracted(block.keys),
            {alongLast(roundedOr(weights)), {x(0), x(2)}},
            rowsAlong(operand(2), all, values), At{inverse, {x(0)}},
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
        shrink = scratchOf(tiles_.rows),
        values = stackable(tiles_.keys, sizes_.depth);
  fill({own.size}, rowsOf(result(1), own), kUnmet);
  fill({own.size}, rowsOf(result(2), own), 0);
  fill({own.size, sizes_.depth}, {result(0), {head(), own.start + x(0), x(1)}},
       0);
  AffineExpr seen = causal_
                        ? (own.start + (own.size - 1)).floorDiv(tiles_.keys) + 1
                        : AffineExpr();
  forTiles({constant(0), sizes_.keys}, tiles_.keys, {}, seen, [&](Span keys) {
    turn(operand(1), keys, turnedKey);
    stack(operand(2), keys, sizes_.depth, values);
    AffineExpr first =
        causal_ ? (keys.start - own.start).floorDiv(tiles_.rows) : AffineExpr();
    forTiles(own, tiles_.rows, first, {}, [&](Span queries) {
      meet({queries, keys}, turnedKey, values, weights, shrink);
    });
  });
  settle(own);
}

/// Adds a tile's keys to the running sums of its queries. `shrink` is scratch
/// for the factors that rescale the earlier sums.
void AttentionKernel::meet(const Tile &tile, Value turnedKey, Value stacked,
                           Value weights, Value shrink) {
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
  exponentials(tile, weights, largest);
  nest({{queries}, keys}, every, {sum, factor}, sum,
       [](const Scalars &s, ValueRange values) {
         return SmallVector<Value>{
             s.add(s.multiply(values[1], values[2]), values[0])};
       });
  if (step_)
    dropped(tile, weights, roundedOr(weights));
  At out{result(0), {head(), tile.queries.start + x(0), x(1)}};
  product(queries, sizes_.depth, contracted(keys),
          {alongLast(roundedOr(weights)), {x(0), x(2)}},
          rowsAlong(operand(2), tile.keys, stacked), {out, factor}, out,
          [](const Scalars &s, ValueRange values) {
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
  return {turnable(sizes_.width),
          turnable(sizes_.depth),
          scratchOf(tile),
          step_ ? scratchOf(tile) : Value(),
          stackable(tiles_.keys, sizes_.width),
          stackable(tiles_.rows, std::max(sizes_.width, sizes_.depth)),
          stackable(tiles_.rows, tiles_.keys)};
}

void AttentionKernel::turn(Span keys, const Turned &turned) {
  turn(operand(1), keys, turned.key);
  turn(operand(2), keys, turned.value);
  stack(operand(1), keys, sizes_.width, turned.stackedKey);
}

/// Adds, for each key, the weighted sum of a tile's rows.
void AttentionKernel::addUp(const Tile &tile, const Turned &turned,
                            Value weights, Value rows, Value out, bool adds) {
  At sum{out, {head(), tile.keys.start + x(0), x(1)}};
  int64_t keys = tile.keys.size, queries = tile.queries.size,
          width = shapeOf(rows).back();
  stack(weights, {constant(0), queries}, keys, turned.stackedWeights);
  stack(rows, tile.queries, width, turned.stackedRows);
  product(keys, width, contracted(queries),
          {pairs_ ? turned.stackedWeights : weights, {x(2), x(0)}},
          rowsAlong(rows, tile.queries, turned.stackedRows),
          adds ? SmallVector<At>{sum} : SmallVector<At>(), sum, added);
}

/// Computes a tile's part of all gradients. Without dropout `kept` is all of
/// the probabilities.
void AttentionKernel::slopes(const Tile &tile, const Turned &turned,
                             bool addsToQueries, bool addsToKeys) {
  int64_t queries = tile.queries.size, keys = tile.keys.size;
  Value gradient = operand(5), weights = turned.weights,
        kept = turned.kept ? turned.kept : weights;
  AffineExpr row = tile.queries.start + x(0);
  At every = scoresOf(weights);
  SmallVector<At> reads = {rowsOf(operand(3), tile.queries),
                           rowsOf(operand(4), tile.queries)};
  scores(tile, turned.key, weights, reads,
         [](const Scalars &s, ValueRange values) {
           Value rest = s.subtract(s.subtract(values[0], values[1]), values[2]);
           // Not above 1: a large mask leaves room for much where the product
           // is summed in another order than before.
           return s.exponential(s.smaller(rest, s.number(0, rest)));
         });
  if (step_)
    dropped(tile, weights, kept);
  addUp(tile, turned, kept, gradient, result(2), addsToKeys);
  Value slopes = roundedOr(weights);
  product(queries, keys, contracted(sizes_.depth),
          {alongLast(gradient), {head(), row, x(2)}},
          {turned.value, {x(2), x(1)}},
          {every, rowsOf(operand(6), tile.queries), scoresOf(kept)},
          scoresOf(slopes), [&](const Scalars &s, ValueRange values) {
            Value along = values[0];
            if (step_) {
              Value zero = s.number(0, along);
              along = s.select(
                  s.compare(FloatIs::UNE, values[3], zero),
                  s.multiply(along, s.number(dropping_.factor(), along)), zero);
            }
            Value slope = s.multiply(values[1], s.subtract(along, values[2]));
            slope = s.multiply(slope, s.number(scale_, slope));
            return pairs_ ? narrow(s, slope) : slope;
          });
  At out{result(0), {item(), row, x(1)}};
  product(queries, sizes_.width, contracted(keys),
          {alongLast(slopes), {x(0), x(2)}},
          rowsAlong(operand(1), tile.keys, turned.stackedKey),
          addsToQueries ? SmallVector<At>{out} : SmallVector<At>(), out, added);
  addUp(tile, turned, slopes, operand(0), result(1), addsToKeys);
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

} // namespace

KernelOp attentionKernel(AttentionOp op, const AttentionTiles &tiles,
                         ValueRange operands, TypeRange results) {
  return AttentionKernel(op, tiles, operands, results).forward();
}

KernelOp attentionKernel(AttentionBackwardOp op, const AttentionTiles &tiles,
                         ValueRange operands, TypeRange results) {
  return AttentionKernel(op, tiles, operands, results).backward();
}

} // namespace gradus
