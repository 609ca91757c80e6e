// Emits the points of a nest for threads: reads, computes and writes one point
// or a vector of them at a time.

#include "codegen/gpu/nests.h"

#include "codegen/gpu/region.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace gradus;

using Values = GpuBuilder::Values;
using Elements = SmallVector<Values>;

//===-- memory ------------------------------------------------------------===//

/// Loads an element if the guard holds, else gives 0.
Value NestEmitter::guarded(const Access &access, ValueRange positions,
                           Type type, function_ref<Value()> load) {
  Value guard = b_.holds(access.guard, positions);
  if (!guard)
    return load();
  return b_.choose(
      guard, load,
      arith::ConstantOp::create(b_, cast<TypedAttr>(b_.getZeroAttr(type))));
}

/// Reads elements one by one if they form no vector. If they are contiguous,
/// the offset of the first serves all.
Values NestEmitter::readSingly(const Nest &nest, const Access &access,
                               const Values &positions, int64_t count) {
  GpuBuffer buffer = bufferOf_(access.buffer);
  bool areNeighbours = access.hasStride(mapping_.vectorDim, 1);
  Value first = areNeighbours ? b_.evaluate(access.place, positions) : Value();
  Values elements;
  for (int64_t n = 0; n < count; ++n) {
    Values at = positions;
    at[mapping_.vectorDim] = positionOf(nest, positions, mapping_.vectorDim, n);
    elements.push_back(guarded(access, at, gpuValueType(access.element), [&] {
      Value place = areNeighbours ? b_.add(first, b_.number(n))
                                  : b_.evaluate(access.place, at);
      return loadGpuElement(b_, buffer, access.element, place);
    }));
  }
  return elements;
}

/// Reads `count` elements from a position on; the same element if the access
/// does not depend on the vectors' dimension.
Values NestEmitter::read(const Nest &nest, const Access &access,
                         const Values &positions, int64_t count) {
  GpuBuffer buffer = bufferOf_(access.buffer);
  auto place = [&] { return b_.evaluate(access.place, positions); };
  if (count == 1 || !access.dependsOn(mapping_.vectorDim)) {
    Value one = guarded(access, positions, gpuValueType(access.element), [&] {
      return loadGpuElement(b_, buffer, access.element, place());
    });
    return Values(count, one);
  }
  if (!fitsVector(access, mapping_.vectorDim, count))
    return readSingly(nest, access, positions, count);
  auto type = VectorType::get({count}, gpuMemoryType(access.element));
  Value all = guarded(access, positions, type, [&] {
    return loadGpuVector(b_, buffer, access.element, place(), count);
  });
  return elementsOf(b_, access.element, all);
}

//===-- points ------------------------------------------------------------===//

/// The position of the n-th point that a thread has at once.
Value NestEmitter::positionOf(const Nest &nest, const Values &positions,
                              int64_t dim, int64_t n) {
  return n && dim == mapping_.vectorDim ? b_.add(positions[dim], b_.number(n))
                                        : positions[dim];
}

/// The positions of a vector's first point; the vectors have `count` points
/// each.
Values NestEmitter::positionsAt(const Nest &nest, const GpuItem &item,
                                Value number, int64_t count) {
  SmallVector<int64_t> extents;
  for (unsigned dim = 0; dim < nest.parallel; ++dim)
    extents.push_back(extentOf(nest, dim));
  if (count > 1)
    extents[mapping_.vectorDim] /= count;
  Values positions = b_.positionsOf(number, extents);
  if (count > 1)
    positions[mapping_.vectorDim] =
        b_.mul(positions[mapping_.vectorDim], count);
  if (nest.itemDim >= 0)
    positions[nest.itemDim] =
        b_.add(positions[nest.itemDim], b_.mul(item.number, nest.itemLength));
  llvm::copy(item.loops, positions.begin() + 1);
  return positions;
}

void NestEmitter::emit(const Nest &nest, const GpuItem &item,
                       const NestMapping &how) {
  mapping_ = how;
  if (mapping_.turned)
    return emitTurned(nest, item.number);
  lane_ = mapping_.columns ? b_.quotient(thread_.inGroup, mapping_.columns)
                           : b_.remainder(thread_.inGroup, mapping_.lanes);
  if (item.isTile)
    return emitTile(nest, item, item.number);
  bool isWhole = mapping_.columns > 0; // the whole group works on each tile
  b_.loop(isWhole ? b_.number(0) : b_.quotient(thread_.inGroup, mapping_.lanes),
          b_.number(tilesOf(nest, mapping_)),
          b_.number(isWhole ? 1 : thread_.group / mapping_.lanes),
          [&](Value tile) { emitTile(nest, item, tile); });
}

/// All lanes take part, as shuffles need: those beyond the last points read the
/// last ones again.
void NestEmitter::emitTile(const Nest &nest, const GpuItem &item, Value tile) {
  int64_t count = mapping_.pointsAtOnce(nest),
          vectors = parallelPoints(nest) / count;
  unsigned width = mapping_.width();
  Value vector = tile, isInside;
  if (mapping_.columns)
    vector = b_.add(b_.mul(tile, width), b_.remainder(thread_.inGroup, width));
  if (vectors % width) {
    isInside = b_.isBelow(vector, b_.number(vectors));
    vector = b_.createOrFold<arith::MinSIOp>(vector, b_.number(vectors - 1));
  }
  Values positions = positionsAt(nest, item, vector, count);
  if (!nest.hasReduction())
    return finish(nest, positions, {}, count);
  LaneCombiner::Share share = combiner_.acrossWarp(
      mapping_, nest.combine, reduce(nest, positions), count);
  if (mapping_.spansWarps(thread_.group))
    return finishTile(nest, item, tile, share);
  Value writes = share.isOnly;
  if (isInside)
    writes =
        writes ? b_.createOrFold<arith::AndIOp>(writes, isInside) : isInside;
  b_.when(writes, [&] {
    if (count > share.count)
      positions[mapping_.vectorDim] =
          b_.add(positions[mapping_.vectorDim], share.first);
    finish(nest, positions, share.totals, share.count);
  });
}

/// Finishes neighbouring points in neighbouring threads.
void NestEmitter::finishTile(const Nest &nest, const GpuItem &item, Value tile,
                             const LaneCombiner::Share &share) {
  int64_t count = mapping_.pointsAtOnce(nest),
          points = count * mapping_.width();
  combiner_.leave(mapping_, share, count);
  gpu::BarrierOp::create(b_);
  Value point = tile, writes = b_.isBelow(thread_.inGroup, b_.number(points));
  if (points > 1)
    point = b_.add(b_.mul(tile, points), thread_.inGroup);
  if (parallelPoints(nest) % points)
    writes = b_.createOrFold<arith::AndIOp>(
        writes, b_.isBelow(point, b_.number(parallelPoints(nest))));
  b_.when(writes, [&] {
    Values totals =
        combiner_.collect(mapping_, nest.combine, share.totals, count);
    finish(nest, positionsAt(nest, item, point, 1), totals, 1);
  });
  gpu::BarrierOp::create(b_);
}

/// Finishes points after the reduction, in one thread.
void NestEmitter::finish(const Nest &nest, const Values &positions,
                         Values totals, int64_t count, const Elements &known) {
  Values all = positions; // the reduced dimensions stay 0
  all.resize(nest.dims(), b_.number(0));
  Elements inputs, results;
  for (unsigned i = nest.mapInputs; i < nest.inputs.size(); ++i) {
    bool isKnown = i < known.size() && !known[i].empty();
    inputs.push_back(isKnown ? known[i]
                             : read(nest, nest.inputs[i], all, count));
  }
  Operation *yield = nest.map().front().getTerminator();
  for (int64_t n = 0; n < count; ++n) {
    Values values;
    for (unsigned k = 0; k < nest.combine.size(); ++k)
      values.push_back(narrowGpuFloat(b_, totals[k * count + n],
                                      yield->getOperand(k).getType()));
    for (const Values &elements : inputs)
      values.push_back(elements[n]);
    results.push_back(emitRegion(b_, nest.then(), values, [&](int64_t dim) {
      return positionOf(nest, positions, dim, n);
    }));
  }
  for (auto [i, access] : llvm::enumerate(nest.outputs)) {
    GpuBuffer buffer = bufferOf_(access.buffer);
    Value index = b_.evaluate(access.place, all);
    Values written;
    for (const Values &each : results)
      written.push_back(each[i]);
    if (count == 1)
      storeGpuElement(b_, buffer, access.element, index, written[0]);
    else
      storeGpuVector(b_, buffer, access.element, index, written);
  }
}

//===-- reductions --------------------------------------------------------===//

Elements NestEmitter::readPoint(const Nest &nest, const Values &positions) {
  Elements elements;
  for (const Access &access : ArrayRef(nest.inputs).take_front(nest.mapInputs))
    elements.push_back(read(nest, access, positions, mapping_.vector));
  return elements;
}

/// Joins neighbours, then the results of neighbours, and so on.
static Value joinAll(GpuBuilder &b, Reduction kind, Values values) {
  for (; values.size() > 1; values.truncate(values.size() / 2))
    for (size_t i = 0; i < values.size() / 2; ++i)
      values[i] = join(b, kind, values[2 * i], values[2 * i + 1]);
  return values[0];
}

/// Adds one point, or a vector: each of its points to a total of its own,
/// reduced points all to the same.
Values NestEmitter::addPoint(const Nest &nest, const Values &positions,
                             const Elements &elements, ValueRange totals) {
  SmallVector<Values> values(nest.combine.size());
  for (int64_t n = 0; n < mapping_.vector; ++n) {
    Values inputs;
    for (const Values &input : elements)
      inputs.push_back(input[n]);
    Values mapped = emitRegion(b_, nest.map(), inputs, [&](int64_t dim) {
      return positionOf(nest, positions, dim, n);
    });
    for (auto [all, value] : llvm::zip(values, mapped))
      all.push_back(widenGpuFloat(b_, value));
  }
  int64_t count = mapping_.pointsAtOnce(nest);
  Values next(totals);
  for (auto [k, kind] : llvm::enumerate(nest.combine))
    if (count > 1)
      for (int64_t n = 0; n < count; ++n)
        next[k * count + n] =
            join(b_, kind, totals[k * count + n], values[k][n]);
    else
      next[k] = join(b_, kind, totals[k], joinAll(b_, kind, values[k]));
  return next;
}

/// The iterations that each lane should have.
static constexpr int64_t kTurns = 4;

/// The vectors that a thread loads before it computes with them; `turns` is the
/// number that all threads have. LLVM unrolls loops without vectors itself.
static int64_t unrolled(const Nest &nest, const NestMapping &mapping,
                        int64_t turns) {
  constexpr int64_t kBytes = 64, kMostOps = 256;
  int64_t bytes = 0;
  for (const Access &access :
       ArrayRef(nest.inputs).take_front(nest.mapInputs)) {
    if (!access.guard.empty())
      return 1;
    if (access.dependsOn(mapping.vectorDim))
      bytes += mapping.vector *
               gpuMemoryType(access.element).getIntOrFloatBitWidth() / 8;
  }
  int64_t ops = nest.map().front().getOperations().size() * mapping.vector;
  int64_t times = mapping.vector == 1 || bytes == 0 ? 1 : kTurns;
  while (times > 1 && (times * bytes > kBytes || times * ops > kMostOps))
    times /= 2;
  return times == kTurns && turns % 3 == 0 && turns % kTurns != 0
             ? 3
             : std::min(times, std::max<int64_t>(turns, 1));
}

/// Runs through `points` reduced points, in turn with the other lanes if they
/// are shared. Several are read before the first is computed, as long as there
/// are enough.
Values NestEmitter::takeTurns(const Nest &nest, int64_t points, bool isShared,
                              function_ref<Values(Value)> positionsAt,
                              Values totals) {
  int64_t step = isShared ? mapping_.lanes : 1,
          times = unrolled(nest, mapping_, points / step);
  int64_t whole = times > 1 ? points / (step * times) * (step * times) : 0;
  Value first = isShared ? lane_ : b_.number(0);
  auto turn = [&](Value n, ValueRange inside, int64_t count) {
    SmallVector<std::pair<Values, Elements>> read;
    for (int64_t i = 0; i < count; ++i) {
      Values positions = positionsAt(i ? b_.add(n, b_.number(i * step)) : n);
      read.push_back({positions, readPoint(nest, positions)});
    }
    Values next(inside);
    for (auto &[positions, elements] : read)
      next = addPoint(nest, positions, elements, next);
    return next;
  };
  if (whole)
    totals = b_.loop(
        first, b_.number(whole), b_.number(step * times), totals,
        [&](Value n, ValueRange inside) { return turn(n, inside, times); });
  if (whole < points)
    totals =
        b_.loop(whole ? b_.add(first, b_.number(whole)) : first,
                b_.number(points), b_.number(step), totals,
                [&](Value n, ValueRange inside) { return turn(n, inside, 1); });
  return totals;
}

/// The extents of the reduced dimensions, counted in vectors.
static SmallVector<int64_t> stepsOf(const Nest &nest,
                                    const NestMapping &mapping) {
  SmallVector<int64_t> steps(nest.extents);
  if (nest.hasReduction() && nest.isReduced(mapping.vectorDim))
    steps[mapping.vectorDim] /= mapping.vector;
  return steps;
}

/// The first of the dimensions whose points the lanes share: the fewest last
/// ones that give each lane a few points.
static unsigned firstShared(const Nest &nest, ArrayRef<int64_t> steps,
                            unsigned lanes) {
  unsigned first = nest.dims();
  for (int64_t points = 1; first > nest.parallel && points < kTurns * lanes;)
    points *= steps[--first];
  return lanes > 1 ? first : nest.dims();
}

/// Sums over the reduced dimensions from `dim` on.
Values NestEmitter::sumUp(const Nest &nest, unsigned dim,
                          const Values &positions, const Values &totals) {
  if (dim == nest.dims())
    return addPoint(nest, positions, readPoint(nest, positions), totals);
  SmallVector<int64_t> steps = stepsOf(nest, mapping_);
  bool isShared = dim == firstShared(nest, steps, mapping_.lanes);
  auto positionsAt = [&](ArrayRef<int64_t> left, Value n) {
    Values next = positions;
    llvm::append_range(next, b_.positionsOf(n, left));
    if (nest.isReduced(mapping_.vectorDim) && mapping_.vectorDim >= dim &&
        mapping_.vectorDim < next.size())
      next[mapping_.vectorDim] =
          b_.mul(next[mapping_.vectorDim], mapping_.vector);
    return next;
  };
  ArrayRef<int64_t> left = ArrayRef(steps).drop_front(dim);
  if (!isShared && steps[dim] == 1)
    return sumUp(nest, dim + 1, positionsAt(left.take_front(), b_.number(0)),
                 totals);
  if (!isShared && dim + 1 < nest.dims())
    return b_.loop(b_.number(0), b_.number(steps[dim]), b_.number(1), totals,
                   [&](Value n, ValueRange inside) {
                     return sumUp(nest, dim + 1,
                                  positionsAt(left.take_front(), n),
                                  Values(inside));
                   });
  int64_t points = 1;
  for (int64_t extent : left)
    points *= extent;
  return takeTurns(
      nest, points, isShared, [&](Value n) { return positionsAt(left, n); },
      totals);
}

Values NestEmitter::reduce(const Nest &nest, const Values &positions) {
  Values totals;
  Operation *yield = nest.map().front().getTerminator();
  for (auto [value, kind] : llvm::zip(yield->getOperands(), nest.combine))
    totals.append(mapping_.pointsAtOnce(nest),
                  identityOf(b_, kind, gpuTotalType(value.getType())));
  return sumUp(nest, nest.parallel, positions, totals);
}
