// Chooses between the two orders by comparing what neighbouring threads read.

#include "codegen/gpu/lanes.h"

#include "codegen/gpu/vectors.h"
#include "codegen/plan/nest.h"

using namespace mlir;
using namespace gradus;

/// Contiguous runs of fewer elements are no better than single elements.
static constexpr int64_t kShortRun = 8;
/// This many reduced points one thread may process alone.
static constexpr int64_t kShortSum = 16;
/// The minimum bytes that a tile of columns reads contiguously.
static constexpr int64_t kLeastWidth = 64;

int64_t gradus::parallelPoints(const Nest &nest) {
  int64_t points = 1;
  for (unsigned d = 0; d < nest.parallel; ++d)
    points *= extentOf(nest, d);
  return points;
}

int64_t gradus::reducedPoints(const Nest &nest) {
  int64_t points = 1;
  for (unsigned d = nest.parallel; d < nest.dims(); ++d)
    points *= nest.extents[d];
  return points;
}

int64_t gradus::tilesOf(const Nest &nest, const NestMapping &mapping) {
  if (mapping.turned)
    return product(mapping.turned.counts(nest));
  return llvm::divideCeil(parallelPoints(nest),
                          mapping.pointsAtOnce(nest) * mapping.width());
}

static ArrayRef<Access> mapInputs(const Nest &nest) {
  return ArrayRef(nest.inputs).take_front(nest.mapInputs);
}

//===-- partial sums ------------------------------------------------------===//

Type gradus::gpuTotalType(Type value) {
  return isNarrowGpuFloat(value) ? Float32Type::get(value.getContext())
                                 : gpuValueType(value);
}

SmallVector<std::pair<Type, int64_t>>
gradus::partialsOf(const Nest &nest, const NestMapping &mapping,
                   unsigned group) {
  SmallVector<std::pair<Type, int64_t>> partials;
  if (!nest.hasReduction() || !mapping.spansWarps(group))
    return partials;
  int64_t each =
      group / kWarp * int64_t(mapping.width()) * mapping.pointsAtOnce(nest);
  for (Value value : nest.map().front().getTerminator()->getOperands()) {
    Type type = gpuMemoryType(gpuTotalType(value.getType()));
    auto known = llvm::find_if(
        partials, [&](auto &partial) { return partial.first == type; });
    if (known == partials.end())
      partials.push_back({type, each});
    else
      known->second += each;
  }
  return partials;
}

static int64_t partialBytes(const Nest &nest, const NestMapping &mapping,
                            unsigned group) {
  int64_t bytes = 0;
  for (auto [type, count] : partialsOf(nest, mapping, group))
    bytes += count * type.getIntOrFloatBitWidth() / 8;
  return bytes;
}

//===-- order of lanes ---------------------------------------------------===//

/// The number of inputs that are not contiguous across neighbouring threads, if
/// these are neighbours along `dim`.
static int64_t readsApart(const Nest &nest, int dim) {
  return llvm::count_if(mapInputs(nest), [&](const Access &access) {
    return access.dependsOn(dim) &&
           !(access.hasStride(dim, 1) && extentOf(nest, dim) >= kShortRun);
  });
}

/// Whether some input is contiguous along the last reduced dimension, so that
/// threads that step through it together read neighbours.
static bool readsAlong(const Nest &nest, int dim) {
  return dim >= 0 && llvm::any_of(mapInputs(nest), [&](const Access &access) {
           return access.hasStride(dim, 1);
         });
}

static bool liesAlongPoints(const Nest &nest) {
  int point = lastLong(nest, 0, nest.parallel),
      reduced = lastLong(nest, nest.parallel, nest.dims());
  return point >= 0 && reduced >= 0 && readsAlong(nest, point) &&
         readsApart(nest, point) < readsApart(nest, reduced);
}

//===-- vectors -----------------------------------------------------------===//

/// One thread per point, or per several points if enough threads are left.
static NestMapping mapPoints(const Nest &nest, int64_t enough) {
  NestMapping mapping;
  int dim = lastLong(nest, 0, nest.parallel);
  if (dim < 0)
    return mapping;
  mapping.vectorDim = dim;
  mapping.vector = widestVector(nest, dim);
  while (mapping.vector > 1 && tilesOf(nest, mapping) < enough)
    mapping.vector /= 2;
  return mapping;
}

/// Maps the threads of a group that share a point as neighbouring lanes.
static NestMapping mapRows(const Nest &nest, const LaneOptions &options) {
  int64_t points = parallelPoints(nest), reduced = reducedPoints(nest);
  int dim = lastLong(nest, nest.parallel, nest.dims());
  NestMapping mapping;
  if (!readsAlong(nest, dim) && points >= options.enoughRows)
    return mapping;
  bool wholeBlock = options.group == kBlock && reduced / 4 >= kBlock &&
                    points * kBlock <= options.enoughRows * kWarp;
  mapping.lanes = wholeBlock ? kBlock : kWarp;
  mapping.vectorDim = dim;
  mapping.vector = widestVector(nest, dim);
  while (mapping.vector > 1 && reduced / mapping.vector < mapping.lanes)
    mapping.vector /= 2;
  return mapping;
}

/// The bytes that a tile reads contiguously, for the narrowest elements.
static int64_t widthInBytes(const Nest &nest, const NestMapping &mapping) {
  int64_t narrowest = 8;
  for (const Access &access : mapInputs(nest))
    if (access.hasStride(mapping.vectorDim, 1))
      narrowest = std::min<int64_t>(
          narrowest, gpuMemoryType(access.element).getIntOrFloatBitWidth() / 8);
  return mapping.columns * mapping.vector * narrowest;
}

/// Chooses as many columns as leave tiles for all groups, and more lanes if
/// there are few points or if partial sums do not fit; vectors stay as long as
/// possible.
static NestMapping mapColumns(const Nest &nest, const LaneOptions &options) {
  NestMapping mapping;
  mapping.vectorDim = lastLong(nest, 0, nest.parallel);
  mapping.vector = widestVector(nest, mapping.vectorDim);
  auto use = [&](unsigned columns) {
    mapping.columns = columns;
    mapping.lanes = options.group / columns;
  };
  use(kWarp);
  int64_t points = parallelPoints(nest), reduced = reducedPoints(nest);
  auto isTooWide = [&] {
    return mapping.columns / 2 * mapping.vector >= points ||
           (tilesOf(nest, mapping) < options.enoughTiles &&
            widthInBytes(nest, mapping) > kLeastWidth);
  };
  while (mapping.columns > 1 && isTooWide() && reduced / 4 >= mapping.lanes)
    use(mapping.columns / 2);
  auto isNarrow = [&] {
    return widthInBytes(nest, mapping) <= 2 * kLeastWidth ||
           reduced / 2 < mapping.lanes;
  };
  while (partialBytes(nest, mapping, options.group) > options.partialBytes) {
    if (mapping.vector > 1 && (mapping.columns == 1 || isNarrow()))
      mapping.vector /= 2;
    else if (mapping.columns > 1)
      use(mapping.columns / 2);
    else
      break;
  }
  return mapping;
}

NestMapping gradus::mapNest(const Nest &nest, const LaneOptions &options) {
  TurnedTiles turned = options.isAlone ? findTurned(nest) : TurnedTiles();
  if (turned)
    return {.vector = turned.vector, .turned = turned};
  if (!nest.hasReduction())
    return mapPoints(nest, 0);
  NestMapping points = mapPoints(nest, options.enoughPoints);
  int64_t reduced = reducedPoints(nest);
  if (options.group < kWarp)
    return points;
  if (!liesAlongPoints(nest))
    return reduced < kWarp ? points : mapRows(nest, options);
  bool areEnough = tilesOf(nest, mapPoints(nest, 0)) >= options.enoughPoints;
  return areEnough || reduced < kShortSum ? points : mapColumns(nest, options);
}
