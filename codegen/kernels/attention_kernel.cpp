// Writes the kernels of attention. An item is a head, or a part of one, and
// processes the scores tile by tile: those of one tile stay in the cache, and
// no others are stored. With up to about 1,024 keys a tile has them all, and
// the probabilities of its queries are computed at once. With more keys each
// tile adds to running sums over exponentials, which are rescaled when a tile
// has a larger score than all before (Milakov and Gimelshein,
// arXiv:1805.02867).

#include "codegen/kernels/attention_kernel.h"

#include "codegen/kernels/attention_scores.h"

namespace gradus {
using namespace mlir;
using plan::KernelOp;

namespace {

using FloatIs = arith::CmpFPredicate;

/// The initial maximum score of a query: finite, since -inf minus -inf is NaN.
constexpr double kUnmet = -std::numeric_limits<float>::max();

/// Computes result, logsumexp and remainder from query, key, value, (mask,)
/// (step, (first,) stream).
class ForwardKernel : public AttentionScores {
public:
  using AttentionScores::AttentionScores;

  KernelOp run() {
    tiles.inOneGo ? inOneGo() : byTiles();
    return finished();
  }

private:
  void inOneGo();
  void exponentials(const Tile &tile, Value scores, At largest);
  void normalize(const Tile &tile, Value scores, Value kept, Value inverse);
  void byTiles();
  void meet(const Tile &tile, Value turnedKey, Value stacked, Value weights,
            Value shrink);
  void settle(Span queries);
};

/// Computes the gradients of query, key and value from query, key, value,
/// logsumexp, remainder, gradient, delta, (mask,) (step, (first,) stream).
class BackwardKernel : public AttentionScores {
public:
  using AttentionScores::AttentionScores;

  KernelOp run() {
    tiles.inOneGo ? inOneGo() : byTiles();
    return finished();
  }

private:
  void inOneGo();
  void byTiles();
  /// Scratch. The stacks are for pairs alone.
  struct Turned {
    Value key, value, weights, kept;
    Value stackedKey, stackedRows, stackedWeights;
  };
  Turned turnedKeys();
  void turnAll(Span keys, const Turned &turned);
  void slopes(const Tile &tile, const Turned &turned, bool addsToQueries,
              bool addsToKeys);
  void addUp(const Tile &tile, const Turned &turned, Value weights, Value rows,
             Value out, bool adds);
};

//===-- forward -----------------------------------------------------------===//

/// The logsumexp and its remainder: the part lost by rounding.
SmallVector<Value> logarithms(const Scalars &s, Value largest, Value total) {
  Value logarithm = s.logarithm(total), rounded = s.add(largest, logarithm);
  return {rounded, s.subtract(logarithm, s.subtract(rounded, largest))};
}

/// Replaces the scores by exp(score - maximum), and rounds these for the matmul
/// with the values; sums are of what is not rounded.
void ForwardKernel::exponentials(const Tile &tile, Value scores, At largest) {
  At every = scoresOf(scores);
  SmallVector<At> outs = {every};
  bool rounds = readsPairs && !stepInput; // or dropout does
  if (rounds)
    outs.push_back(scoresOf(rounded));
  nest({{tile.queries.size, tile.keys.size}}, {}, {every, largest}, outs,
       [&](const Scalars &s, ValueRange values) {
         Value weight = s.exponential(s.subtract(values[0], values[1]));
         SmallVector<Value> found = {weight};
         if (rounds)
           found.push_back(roundedToBf16(s, weight));
         return found;
       });
}

/// Replaces the scores by exponentials. Sets `kept` to 1, or 0 for a
/// query that attends to no key, and `inverse` to 1 / sum; result 1 temporarily
/// holds the maximum.
void ForwardKernel::normalize(const Tile &tile, Value scores, Value kept,
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
             s.compare(FloatIs::OEQ, largest, s.number(kHiddenScore, largest));
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

void ForwardKernel::inOneGo() {
  Span all{constant(0), sizes.keys};
  Value turnedKey = turnable(sizes.width),
        weights = scratchOf({tiles.rows, sizes.keys}),
        kept = scratchOf(tiles.rows), inverse = scratchOf(tiles.rows),
        values = stackable(sizes.keys, sizes.depth);
  turn(operand(1), all, turnedKey);
  stack(operand(2), all, sizes.depth, values);
  for (const QueryBlock &block : blocksOf(sizes, tiles.rows, isCausal)) {
    Tile tile{{constant(block.start), block.rows}, {constant(0), block.keys}};
    scores(tile, turnedKey, weights);
    normalize(tile, weights, kept, inverse);
    if (stepInput)
      dropped(tile, weights, roundedOr(weights));
    product(block.rows, sizes.depth, contracted(block.keys),
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
void ForwardKernel::byTiles() {
  Span own = ownOf(sizes.queries);
  Value turnedKey = turnable(sizes.width),
        weights = scratchOf({tiles.rows, tiles.keys}),
        shrink = scratchOf(tiles.rows),
        values = stackable(tiles.keys, sizes.depth);
  fill({own.size}, rowsOf(result(1), own), kUnmet);
  fill({own.size}, rowsOf(result(2), own), 0);
  fill({own.size, sizes.depth}, {result(0), {head(), own.start + x(0), x(1)}},
       0);
  AffineExpr seen = isCausal
                        ? (own.start + (own.size - 1)).floorDiv(tiles.keys) + 1
                        : AffineExpr();
  forTiles({constant(0), sizes.keys}, tiles.keys, {}, seen, [&](Span keys) {
    turn(operand(1), keys, turnedKey);
    stack(operand(2), keys, sizes.depth, values);
    AffineExpr first =
        isCausal ? (keys.start - own.start).floorDiv(tiles.rows) : AffineExpr();
    forTiles(own, tiles.rows, first, {}, [&](Span queries) {
      meet({queries, keys}, turnedKey, values, weights, shrink);
    });
  });
  settle(own);
}

/// Adds a tile's keys to the running sums of its queries. `shrink` is scratch
/// for the factors that rescale the earlier sums.
void ForwardKernel::meet(const Tile &tile, Value turnedKey, Value stacked,
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
  if (stepInput)
    dropped(tile, weights, roundedOr(weights));
  At out{result(0), {head(), tile.queries.start + x(0), x(1)}};
  product(queries, sizes.depth, contracted(keys),
          {alongLast(roundedOr(weights)), {x(0), x(2)}},
          rowsAlong(operand(2), tile.keys, stacked), {out, factor}, out,
          [](const Scalars &s, ValueRange values) {
            return s.add(s.multiply(values[1], values[2]), values[0]);
          });
}

/// Divides by the sums. The sum of a query that attends to no key is 0, others
/// are at least 1.
void ForwardKernel::settle(Span queries) {
  At largest = rowsOf(result(1), queries), sum = rowsOf(result(2), queries);
  nest({{queries.size}}, {}, {largest, sum}, {largest, sum},
       [](const Scalars &s, ValueRange values) {
         Value zero = s.number(0, values[1]), one = s.number(1, values[1]);
         Value isAlone = s.compare(FloatIs::OEQ, values[1], zero);
         return SmallVector<Value>{s.select(isAlone, zero, values[0]),
                                   s.select(isAlone, one, values[1])};
       });
  At out{result(0), {head(), queries.start + x(0), x(1)}};
  nest({{queries.size, sizes.depth}}, {}, {out, sum}, out,
       [](const Scalars &s, ValueRange values) {
         return SmallVector<Value>{s.divide(values[0], values[1])};
       });
  nest({{queries.size}}, {}, {largest, sum}, {largest, sum},
       [](const Scalars &s, ValueRange values) {
         return logarithms(s, values[0], values[1]);
       });
}

//===-- backward ----------------------------------------------------------===//

/// The sum of two values, or the only one.
Value added(const Scalars &s, ValueRange values) {
  return values.size() > 1 ? s.add(values[0], values[1]) : values[0];
}

BackwardKernel::Turned BackwardKernel::turnedKeys() {
  SmallVector<int64_t> tile = {tiles.rows, tiles.keys};
  return {turnable(sizes.width),
          turnable(sizes.depth),
          scratchOf(tile),
          stepInput ? scratchOf(tile) : Value(),
          stackable(tiles.keys, sizes.width),
          stackable(tiles.rows, std::max(sizes.width, sizes.depth)),
          stackable(tiles.rows, tiles.keys)};
}

void BackwardKernel::turnAll(Span keys, const Turned &turned) {
  turn(operand(1), keys, turned.key);
  turn(operand(2), keys, turned.value);
  stack(operand(1), keys, sizes.width, turned.stackedKey);
}

/// Adds, for each key, the weighted sum of a tile's rows.
void BackwardKernel::addUp(const Tile &tile, const Turned &turned,
                           Value weights, Value rows, Value out, bool adds) {
  At sum{out, {head(), tile.keys.start + x(0), x(1)}};
  int64_t keys = tile.keys.size, queries = tile.queries.size,
          width = shapeOf(rows).back();
  stack(weights, {constant(0), queries}, keys, turned.stackedWeights);
  stack(rows, tile.queries, width, turned.stackedRows);
  product(keys, width, contracted(queries),
          {readsPairs ? turned.stackedWeights : weights, {x(2), x(0)}},
          rowsAlong(rows, tile.queries, turned.stackedRows),
          adds ? SmallVector<At>{sum} : SmallVector<At>(), sum, added);
}

/// Computes a tile's part of all gradients. Without dropout `kept` is all of
/// the probabilities.
void BackwardKernel::slopes(const Tile &tile, const Turned &turned,
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
  if (stepInput)
    dropped(tile, weights, kept);
  addUp(tile, turned, kept, gradient, result(2), addsToKeys);
  Value slopes = roundedOr(weights);
  product(queries, keys, contracted(sizes.depth),
          {alongLast(gradient), {head(), row, x(2)}},
          {turned.value, {x(2), x(1)}},
          {every, rowsOf(operand(6), tile.queries), scoresOf(kept)},
          scoresOf(slopes), [&](const Scalars &s, ValueRange values) {
            Value along = values[0];
            if (stepInput) {
              Value zero = s.number(0, along);
              along = s.select(
                  s.compare(FloatIs::UNE, values[3], zero),
                  s.multiply(along, s.number(dropping.factor(), along)), zero);
            }
            Value slope = s.multiply(values[1], s.subtract(along, values[2]));
            slope = s.multiply(slope, s.number(scale, slope));
            return readsPairs ? roundedToBf16(s, slope) : slope;
          });
  At out{result(0), {item(), row, x(1)}};
  product(queries, sizes.width, contracted(keys),
          {alongLast(slopes), {x(0), x(2)}},
          rowsAlong(operand(1), tile.keys, turned.stackedKey),
          addsToQueries ? SmallVector<At>{out} : SmallVector<At>(), out, added);
  addUp(tile, turned, slopes, operand(0), result(1), addsToKeys);
}

/// Starts with the last block, which attends to all keys: it initialises their
/// gradients, to which the others add.
void BackwardKernel::inOneGo() {
  Turned turned = turnedKeys();
  turnAll({constant(0), sizes.keys}, turned);
  SmallVector<QueryBlock> blocks = blocksOf(sizes, tiles.rows, isCausal);
  bool isFirst = true;
  for (const QueryBlock &block : llvm::reverse(blocks)) {
    slopes({{constant(block.start), block.rows}, {constant(0), block.keys}},
           turned, /*addsToQueries=*/false, /*addsToKeys=*/!isFirst);
    isFirst = false;
  }
}

/// Processes an item's part of the keys. The first result is its contribution
/// to the gradients of all queries.
void BackwardKernel::byTiles() {
  Span own = ownOf(sizes.keys), all{constant(0), sizes.queries};
  Turned turned = turnedKeys();
  fill({all.size, sizes.width}, {result(0), {item(), x(0), x(1)}}, 0);
  for (auto [number, width] : {std::pair{1, sizes.width}, {2, sizes.depth}})
    fill({own.size, width}, {result(number), {head(), own.start + x(0), x(1)}},
         0);
  forTiles(own, tiles.keys, {}, {}, [&](Span keys) {
    turnAll(keys, turned);
    AffineExpr first =
        isCausal ? keys.start.floorDiv(tiles.rows) : AffineExpr();
    forTiles(all, tiles.rows, first, {}, [&](Span queries) {
      slopes({queries, keys}, turned, true, true);
    });
  });
}

} // namespace

KernelOp attentionKernel(AttentionOp op, const AttentionTiles &tiles,
                         ValueRange operands, TypeRange results) {
  return ForwardKernel(op, tiles, operands, results).run();
}

KernelOp attentionKernel(AttentionBackwardOp op, const AttentionTiles &tiles,
                         ValueRange operands, TypeRange results) {
  return BackwardKernel(op, tiles, operands, results).run();
}

} // namespace gradus
