// Writes the nests of a tile of scores, and those that pack what matmuls read.

#include "codegen/kernels/attention_scores.h"

#include "ir/ops/random_bits.h"

namespace gradus {
using namespace mlir;

namespace {
using IntegerIs = arith::CmpIPredicate;
}

//===-- operands of matmuls -----------------------------------------------===//

/// Transposes [keys, width] to [width, keys].
void AttentionScores::turn(Value rows, Span span, Value into) {
  nest({{shapeOf(into)[0], span.size}}, {},
       At{alongLast(rows), {head(), span.start + x(1), x(0)}}, scoresOf(into),
       [](const Scalars &, ValueRange values) {
         return SmallVector<Value>{values[0]};
       });
}

Value roundedToBf16(const Scalars &s, Value x) {
  Type type = s.builder.getBF16Type();
  return x.getType() == type ? x : s.make<arith::TruncFOp>(type, x);
}

/// Packs two rows at a time, of a tensor of heads or of scratch: a pair has an
/// element of each. The last of an odd number of rows is paired with zeros.
void AttentionScores::stack(Value rows, Span span, int64_t width, Value into) {
  if (!readsPairs)
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
             s.pair(roundedToBf16(s, values[0]), roundedToBf16(s, values[1]))};
       });
}

/// Makes the buffer of rounded numbers, with zeros at first if keys are odd. A
/// matmul reads one number more of each row then and multiplies it by the zeros
/// behind the last key, so it must be finite.
void AttentionScores::prepareRounded() {
  if (!readsPairs)
    return;
  int64_t keys = llvm::alignTo(tiles.keys, 2);
  rounded =
      scratch({tiles.rows, keys}, BFloat16Type::get(element.getContext()));
  if (tiles.keys % 2 || sizes.keys / tiles.parts % 2 || sizes.keys % 2)
    fill({tiles.rows, keys}, scoresOf(rounded), 0);
}

//===-- scores ------------------------------------------------------------===//

/// The element of the mask for query x0 and key x1 of a tile.
At AttentionScores::maskAt(const Tile &tile) {
  AffineExpr full[] = {head().floorDiv(sizes.heads), head() % sizes.heads,
                       tile.queries.start + x(0), tile.keys.start + x(1)};
  At at{maskInput, {}};
  for (auto [size, place] : llvm::zip(shapeOf(maskInput), full))
    at.place.push_back(size == 1 ? constant(0) : place);
  return at;
}

/// Scales a dot product of query and key, and applies the masks.
Value AttentionScores::masked(const Scalars &s, Value product, Value mask,
                              const Tile &tile) {
  Value score = s.multiply(product, s.number(scale, product)),
        none = s.number(kHiddenScore, product);
  if (mask && isa<FloatType>(mask.getType()))
    score = s.add(score, mask);
  else if (mask)
    score = s.select(mask, score, none);
  if (!isCausal || tile.isSeen)
    return score;
  AffineExpr key = tile.keys.start + x(1), query = tile.queries.start + x(0);
  if (tile.keys.start == tile.queries.start) // the same code for all of them
    key = x(1), query = x(0);
  return s.select(s.compare(IntegerIs::sle, s.index(key), s.index(query)),
                  score, none);
}

/// Parts of a tile of which a causal mask is applied to the last alone: keys
/// before the first query are seen by all.
SmallVector<AttentionScores::Tile> AttentionScores::partsOf(const Tile &tile) {
  auto query = dyn_cast<AffineConstantExpr>(tile.queries.start),
       key = dyn_cast<AffineConstantExpr>(tile.keys.start);
  int64_t seen = query && key ? query.getValue() - key.getValue() : 0;
  if (!isCausal || seen <= 0 || seen >= tile.keys.size)
    return {tile};
  return {{tile.queries, {tile.keys.start, seen}, /*isSeen=*/true},
          {tile.queries, {tile.queries.start, tile.keys.size - seen}}};
}

/// Applies dropout to a tile of per-score values and rescales the survivors.
void AttentionScores::dropped(const Tile &tile, Value from, Value to) {
  AffineExpr row = head() * sizes.queries + tile.queries.start + x(0),
             place = row * sizes.keys + tile.keys.start + x(1);
  SmallVector<At> reads = {scoresOf(from), At{stepInput, {}},
                           At{streamInput, {}}};
  if (firstInput)
    reads.push_back(At{firstInput, {}});
  nest({{tile.queries.size, tile.keys.size}}, {}, reads, scoresOf(to),
       [&](const Scalars &s, ValueRange values) {
         Value at = s.index(place);
         if (firstInput)
           at = arith::AddIOp::create(s.builder, s.loc, at, values[3]);
         Value bits =
             buildRandomBits(s.builder, s.loc, at, values[1], values[2], seed);
         Value limit =
             splat(s.builder, s.loc, bits.getType(), dropping.limit());
         Value larger =
             s.multiply(values[0], s.number(dropping.factor(), values[0]));
         Value kept = s.select(s.compare(IntegerIs::slt, bits, limit),
                               s.number(0, larger), larger);
         return SmallVector<Value>{to == rounded ? roundedToBf16(s, kept)
                                                 : kept};
       });
}

/// Computes a tile of scores, or what `then` makes of each and of what it
/// reads.
void AttentionScores::scores(const Tile &tile, Value turnedKey, Value out,
                             ArrayRef<At> reads, Code then) {
  for (const Tile &part : partsOf(tile)) {
    SmallVector<At> all(reads);
    if (maskInput)
      all.push_back(maskAt(part));
    AffineExpr key = part.keys.start - tile.keys.start + x(1);
    product(part.queries.size, part.keys.size, contracted(sizes.width),
            {alongLast(operand(0)), {head(), part.queries.start + x(0), x(2)}},
            {turnedKey, {x(2), key}}, all, {out, {x(0), key}},
            [&](const Scalars &s, ValueRange values) {
              SmallVector<Value> read(values.take_front(1 + reads.size()));
              Value mask = maskInput ? values.back() : Value();
              read[0] = masked(s, values[0], mask, part);
              return then ? then(s, read) : read[0];
            });
  }
}

} // namespace gradus
