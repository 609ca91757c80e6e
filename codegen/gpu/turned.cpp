// Finds transposes and emits their tiles.

#include "codegen/gpu/turned.h"

#include "codegen/gpu/nests.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace gradus;

using Values = GpuBuilder::Values;
using Elements = SmallVector<Values>;

//===-- choice of tiles --------------------------------------------------===//

/// The minimum extent for tiles; the rows of threads of a tile; the bytes that
/// neighbouring threads should read each; the maximum bytes of a tile.
static constexpr int64_t kShortest = 16, kRows = kBlock / kWarp, kBytes = 4,
                         kMostTileBytes = 24 * 1024;

int64_t TurnedTiles::side() const { return kWarp * vector; }

SmallVector<int64_t> TurnedTiles::counts(const Nest &nest) const {
  SmallVector<int64_t> counts(ArrayRef(nest.extents).take_front(nest.parallel));
  for (int dim : {written, read})
    counts[dim] = llvm::divideCeil(counts[dim], side());
  return counts;
}

bool TurnedTiles::isTurned(const Access &access) const {
  return access.hasStride(read, 1) && access.dependsOn(written) &&
         !access.hasStride(written, 1);
}

/// Whether all accesses allow vectors: transposed ones along `read`, others
/// along `written`.
static bool fits(const Nest &nest, const TurnedTiles &tiles) {
  auto fitsOne = [&](const Access &access) {
    return fitsVector(access,
                      tiles.isTurned(access) ? tiles.read : tiles.written,
                      tiles.vector);
  };
  return nest.extents[tiles.read] % tiles.vector == 0 &&
         nest.extents[tiles.written] % tiles.vector == 0 &&
         llvm::all_of(nest.inputs, fitsOne) &&
         llvm::all_of(nest.outputs, fitsOne);
}

/// The first dimension along which an input is contiguous instead of the last
/// one.
static int readDim(const Nest &nest, TurnedTiles tiles) {
  for (tiles.read = 0; tiles.read < tiles.written; ++tiles.read)
    if (nest.extents[tiles.read] >= kShortest &&
        llvm::any_of(nest.inputs, [&](const Access &access) {
          return tiles.isTurned(access);
        }))
      return tiles.read;
  return -1;
}

TurnedTiles gradus::findTurned(const Nest &nest) {
  TurnedTiles tiles;
  if (nest.hasReduction() || nest.itemDim >= 0 || nest.loops)
    return tiles;
  tiles.written = lastLong(nest, 0, nest.parallel);
  if (tiles.written < 0 || nest.extents[tiles.written] < kShortest ||
      !llvm::all_of(
          nest.outputs,
          [&](const Access &access) {
            return access.hasStride(tiles.written, 1);
          }))
    return tiles;
  tiles.read = readDim(nest, tiles);
  if (!tiles)
    return tiles;
  int64_t widest = 1, bytes = 0;
  for (const Access &access : nest.inputs)
    if (tiles.isTurned(access)) {
      int64_t width = gpuMemoryType(access.element).getIntOrFloatBitWidth() / 8;
      widest = std::max(widest, width);
      bytes += width;
    }
  tiles.vector = std::max<int64_t>(1, kBytes / widest);
  while (tiles.vector > 1 &&
         (!fits(nest, tiles) || tiles.elements() * bytes > kMostTileBytes))
    tiles.vector /= 2;
  if (tiles.elements() * bytes > kMostTileBytes)
    tiles.read = -1;
  return tiles;
}

//===-- code of tiles ----------------------------------------------------===//

/// Clamps a position to the last one.
static Value stayInside(GpuBuilder &b, Value position, int64_t last) {
  return b.createOrFold<arith::MinSIOp>(position, b.number(last));
}

/// The part of a tile that a thread has: `side` / kRows vectors, at column x
/// and rows from y on.
struct NestEmitter::Tile {
  Values corner; // positions of its first point
  Value x, y;
  SmallVector<GpuBuffer> memories; // of transposed inputs

  Value row(GpuBuilder &b, int64_t k) const {
    return b.add(y, b.number(k * kRows));
  }
  /// The positions of the k-th vector along one of the two dimensions.
  Values positions(GpuBuilder &b, int along, int other, int64_t k) const {
    Values at = corner;
    at[along] = b.add(at[along], x);
    at[other] = b.add(at[other], row(b, k));
    return at;
  }
};

/// Copies a transposed input to shared memory; loads all of it before storing
/// any.
void NestEmitter::putDown(const Nest &nest, const Tile &tile, unsigned input) {
  const TurnedTiles &tiles = mapping_.turned;
  const Access &access = nest.inputs[input];
  Elements all;
  mapping_.vectorDim = tiles.read;
  for (int64_t k = 0; k < tiles.side() / kRows; ++k) {
    Values at = tile.positions(b_, tiles.read, tiles.written, k);
    for (auto [dim, width] : {std::pair(tiles.read, tiles.vector),
                              std::pair(tiles.written, int64_t(1))})
      if (nest.extents[dim] % tiles.side())
        at[dim] = stayInside(b_, at[dim], nest.extents[dim] - width);
    all.push_back(read(nest, access, at, tiles.vector));
  }
  for (auto [k, values] : llvm::enumerate(all)) {
    Value row = b_.mul(tile.row(b_, k), tiles.side() + 1);
    for (auto [n, value] : llvm::enumerate(values))
      storeGpuElement(b_, tile.memories[input], access.element,
                      b_.add(row, b_.add(tile.x, b_.number(n))), value);
  }
}

/// Reads the k-th vector along the written dimension and computes its results.
void NestEmitter::takeUp(const Nest &nest, const Tile &tile, int64_t k) {
  const TurnedTiles &tiles = mapping_.turned;
  Elements turned(nest.inputs.size());
  for (auto [memory, access, values] :
       llvm::zip(tile.memories, nest.inputs, turned))
    for (int64_t n = 0; memory.memory && n < tiles.vector; ++n) {
      Value row = b_.mul(b_.add(tile.x, b_.number(n)), tiles.side() + 1);
      values.push_back(loadGpuElement(b_, memory, access.element,
                                      b_.add(row, tile.row(b_, k))));
    }
  mapping_.vectorDim = tiles.written;
  finish(nest, tile.positions(b_, tiles.written, tiles.read, k), {},
         tiles.vector, turned);
}

void NestEmitter::emitTurned(const Nest &nest, Value number) {
  const TurnedTiles &tiles = mapping_.turned;
  Tile tile{b_.positionsOf(number, tiles.counts(nest)),
            b_.mul(b_.remainder(thread_.inBlock, kWarp), tiles.vector),
            b_.quotient(thread_.inBlock, kWarp),
            {}};
  for (int dim : {tiles.written, tiles.read})
    tile.corner[dim] = b_.mul(tile.corner[dim], tiles.side());
  for (auto [i, access] : llvm::enumerate(nest.inputs)) {
    tile.memories.emplace_back();
    if (!tiles.isTurned(access))
      continue;
    tile.memories.back().memory = addShared(
        b_, function_, gpuMemoryType(access.element), tiles.elements());
    putDown(nest, tile, i);
  }
  gpu::BarrierOp::create(b_);
  for (int64_t k = 0; k < tiles.side() / kRows; ++k) {
    Values at = tile.positions(b_, tiles.written, tiles.read, k);
    Value isInside;
    for (int dim : {tiles.written, tiles.read})
      if (nest.extents[dim] % tiles.side()) {
        Value is = b_.isBelow(at[dim], b_.number(nest.extents[dim]));
        isInside = isInside ? b_.createOrFold<arith::AndIOp>(isInside, is) : is;
      }
    b_.when(isInside, [&] { takeUp(nest, tile, k); });
  }
  gpu::BarrierOp::create(b_);
}
