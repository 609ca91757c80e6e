// The kernels of attention share what this class writes: tiles of scores, with
// masks and dropout, and the operands of their matmuls.
//
// The matmuls of a tile are ordinary nests. Keys and values are transposed once
// per tile for all queries, because a matmul with both operands contiguous
// along the contracted dimension takes 1.5 times as long.
//
// Matmuls of queries, keys and values that are bf16 read pairs of them: two
// neighbours along the contracted dimension are one element of 32 bits. If that
// is the last dimension of a buffer they are neighbours in memory; else the
// buffer is packed first, two rows at a time.
#pragma once

#include "codegen/kernels/attention_tiles.h"
#include "codegen/kernels/kernel_writer.h"
#include "ir/dropout.h"

#include "mlir/IR/TypeUtilities.h"

#include <limits>

namespace gradus {

/// The score of a key that a mask hides.
inline constexpr double kHiddenScore = -std::numeric_limits<double>::infinity();

/// A number rounded to bf16.
mlir::Value roundedToBf16(const Scalars &s, mlir::Value x);

/// Writes the scores of a tile, [queries, keys], and what matmuls read. Kernels
/// of attention and of its gradients derive from it.
class AttentionScores : public KernelWriter {
public:
  template <typename Op>
  AttentionScores(Op op, const AttentionTiles &tiles, mlir::ValueRange operands,
                  mlir::TypeRange results)
      : KernelWriter(op.getContext(), operands.getTypes(), results,
                     tiles.parts * shapeOf(operands[0])[0]),
        sizes(op.getQuery(), op.getValue()), tiles(tiles),
        isCausal(op.getCausal()), scale(op.getScale().convertToDouble()),
        element(getElementTypeOrSelf(results[0])),
        readsPairs(tensorType(operands[0]).getElementType().isBF16()),
        seed(op.getSeed()) {
    unsigned last = operands.size();
    if (op.getStep()) {
      streamInput = operand(--last);
      if (op.getFirst())
        firstInput = operand(--last);
      stepInput = operand(--last);
      dropping.ratio = op.getDropout()->convertToDouble();
    }
    if (op.getMask())
      maskInput = operand(--last);
    prepareRounded();
  }

protected:
  using KernelWriter::product;
  /// The queries and keys of a tile's scores. A causal mask may hide none.
  struct Tile {
    Span queries, keys;
    bool isSeen = false; // wholly
  };

  mlir::AffineExpr head() {
    return tiles.parts == 1 ? item() : item().floorDiv(tiles.parts);
  }
  /// The item's own part of all queries or keys.
  Span ownOf(int64_t all) {
    int64_t size = all / tiles.parts;
    return {(item() % tiles.parts) * size, size};
  }
  /// Row x0 of a tensor of queries or keys, or an element of such a vector.
  At rowsOf(mlir::Value buffer, Span span) {
    return {buffer, {head(), span.start + x(0)}};
  }
  At scoresOf(mlir::Value buffer) { return {buffer, {x(0), x(1)}}; }

  mlir::Value scratchOf(llvm::ArrayRef<int64_t> shape) {
    return scratch(shape, element);
  }
  /// Scratch for what matmuls read: f32, or pairs.
  mlir::Value factors(llvm::ArrayRef<int64_t> shape) {
    return scratch(shape, readsPairs
                              ? mlir::IntegerType::get(element.getContext(), 32)
                              : element);
  }
  mlir::Value turnable(int64_t width) {
    // The padding avoids rows at distances of a power of two, which would share
    // few sets of the cache.
    return factors({contracted(width), tiles.keys + 16});
  }
  /// The elements along a contracted dimension, which may be pairs.
  int64_t contracted(int64_t size) const {
    return readsPairs ? llvm::divideCeil(size, 2) : size;
  }
  /// A buffer whose last dimension is contracted.
  mlir::Value alongLast(mlir::Value buffer) {
    return readsPairs ? pairs(buffer) : buffer;
  }
  mlir::Value stackable(int64_t rows, int64_t width) {
    return readsPairs ? factors({contracted(rows), width}) : mlir::Value();
  }
  void stack(mlir::Value rows, Span span, int64_t width, mlir::Value into);
  /// Row x2, or rows 2 x2 and 2 x2 + 1, which `stack` has packed in `stacked`.
  At rowsAlong(mlir::Value rows, Span span, mlir::Value stacked) {
    return readsPairs ? At{stacked, {x(2), x(1)}}
                      : At{rows, {head(), span.start + x(2), x(1)}};
  }
  mlir::Value roundedOr(mlir::Value weights) {
    return readsPairs ? rounded : weights;
  }
  void turn(mlir::Value rows, Span span, mlir::Value into);
  void dropped(const Tile &tile, mlir::Value from, mlir::Value to);
  void scores(const Tile &tile, mlir::Value turnedKey, mlir::Value out,
              llvm::ArrayRef<At> reads = {}, Code then = nullptr);

  AttentionSizes sizes;
  AttentionTiles tiles;
  bool isCausal;
  double scale;
  mlir::Type element;
  bool readsPairs;
  int64_t seed;
  Dropping dropping{0};
  mlir::Value maskInput, stepInput, firstInput, streamInput;
  /// A tile of what matmuls read in bf16 along the keys; null without pairs.
  mlir::Value rounded;

private:
  void prepareRounded();
  At maskAt(const Tile &tile);
  mlir::Value masked(const Scalars &s, mlir::Value product, mlir::Value mask,
                     const Tile &tile);
  llvm::SmallVector<Tile> partsOf(const Tile &tile);
};

} // namespace gradus
