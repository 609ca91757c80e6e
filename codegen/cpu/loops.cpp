// Loops over the parallel dimensions contain tiles, whose positions are
// computed together. In a tile, loops over the reduced dimensions carry one
// accumulator for each position and combined value; then the `then` region runs
// on those.
//
// Every element combines its reduced points in the same order in any tile, so
// its bits do not depend on how items are divided.

#include "codegen/cpu/loops.h"

#include "codegen/cpu/combine.h"
#include "codegen/cpu/lanes.h"
#include "codegen/cpu/ops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace llvm;
using namespace gradus;

namespace {

class NestEmitter {
public:
  NestEmitter(CpuBuilder &builder, const Nest &nest, const Tiling &tiling,
              const Items &items, PointerOf pointerOf);
  void emit() { parallelLoops(0); }

private:
  // Parallel dimensions:
  void parallelLoops(unsigned dim);
  void itemLoops(unsigned dim);
  void fixedLoops(unsigned dim, Value *origin, int64_t extent);
  void step(unsigned dim, Value *at, int64_t size, Value *limit = nullptr);
  // Tiles:
  void emitTile();
  SmallVector<Instance> instancesOf(unsigned first, unsigned last);
  Value *firstLanes(Value *count, unsigned lanes);
  void addLanes(Instance &instance, unsigned dim, int64_t offset, int64_t size);
  void finish(ArrayRef<Instance> instances, ArrayRef<Value *> accumulators);
  // Reduced dimensions:
  Values reduce(ArrayRef<Instance> instances);
  Values reduceLoops(unsigned dim, ArrayRef<Instance> instances,
                     ArrayRef<Value *> carried);
  Values accumulate(ArrayRef<Instance> instances, ArrayRef<Value *> carried);
  Values accumulateAt(const Instance &at, ArrayRef<Value *> carried);
  mlir::Value yielded(unsigned i) const;
  bool isZeroInMaskedLanes(mlir::Value value) const;
  void combineLanes(SmallVector<Instance> &instances, Values &accumulators);
  Value *gather(ArrayRef<Instance> instances, ArrayRef<Value *> accumulators,
                unsigned first, unsigned value, int64_t present);

  bool isVectorReduced() const {
    return tiling.vectorDim >= 0 && nest.isReduced(tiling.vectorDim);
  }
  /// The number of accumulators per instance for a reduced vector dimension,
  /// which are independent chains.
  unsigned chains() const {
    return isVectorReduced() ? tiling.sizes[tiling.vectorDim] / tiling.lanes
                             : 1;
  }
  unsigned valueCount() const { return nest.combine.size(); }

  CpuBuilder &b;
  const Nest &nest;
  const Tiling &tiling;
  const Items &items;
  Position position;
  NestMemory memory;
  SmallVector<int64_t> sizes; // of the current tile
  Value *laneLimit = nullptr; // the end of the vector dimension if not constant
  SmallVector<bool> bound;    // dimensions of the loops around, per position
  SmallVector<Combiner> combiners;
};

} // namespace

NestEmitter::NestEmitter(CpuBuilder &builder, const Nest &nest,
                         const Tiling &tiling, const Items &items,
                         PointerOf pointerOf)
    : b(builder), nest(nest), tiling(tiling), items(items),
      memory(builder, nest, position, pointerOf), sizes(nest.dims(), 1),
      bound(nest.dims(), false) {
  position.base.assign(nest.dims(), b.getInt64(0));
  position.vectorDim = tiling.vectorDim;
  position.lanes = tiling.lanes;
  if (nest.hasReduction())
    for (auto [kind, value] :
         zip(nest.combine, nest.map().front().getTerminator()->getOperands()))
      combiners.push_back(Combiner(b, kind, value.getType()));
}

//===-- parallel dimensions -----------------------------------------------===//

void NestEmitter::parallelLoops(unsigned dim) {
  Instance here{SmallVector<int64_t>(nest.dims(), 0)};
  SmallVector<unsigned> hoisted =
      memory.hoist([&](unsigned d) { return bound[d]; }, here);
  if (dim == nest.parallel)
    emitTile();
  else if (int(dim) == nest.itemDim)
    itemLoops(dim);
  else if (nest.isLoop(dim))
    fixedLoops(dim, items.loops[dim - 1], 1);
  else
    fixedLoops(dim, b.getInt64(0), nest.extents[dim]);
  memory.release(hoisted);
}

/// Loops over the dimension that is divided into items.
void NestEmitter::itemLoops(unsigned dim) {
  Value *length = b.getInt64(nest.itemLength);
  Value *begin = b.CreateNSWMul(items.begin, length);
  if (items.count >= 0)
    return fixedLoops(dim, begin, items.count * nest.itemLength);
  Value *end = b.CreateNSWMul(items.end, length);
  int64_t size = tiling.sizes[dim];
  Value *whole = b.CreateNSWSub(end, begin);
  Value *rest =
      size == 1 ? b.getInt64(0) : b.CreateSRem(whole, b.getInt64(size));
  Value *middle = b.CreateNSWSub(end, rest);
  b.loop(begin, middle, size, [&](Value *iv) { step(dim, iv, size); });
  if (size == 1)
    return;
  bool vector = int(dim) == tiling.vectorDim;
  int64_t single = vector ? tiling.lanes : 1;
  b.loop(middle, end, single,
         [&](Value *iv) { step(dim, iv, single, vector ? end : nullptr); });
}

/// Loops over a constant number of positions: whole tiles, then a rest.
void NestEmitter::fixedLoops(unsigned dim, Value *origin, int64_t extent) {
  int64_t size = std::min(tiling.sizes[dim], extent),
          whole = extent / size * size;
  b.loop(b.getInt64(0), b.getInt64(whole), size,
         [&](Value *iv) { step(dim, b.CreateNSWAdd(origin, iv), size); });
  if (whole < extent)
    step(dim, b.CreateNSWAdd(origin, b.getInt64(whole)), extent - whole);
}

void NestEmitter::step(unsigned dim, Value *at, int64_t size, Value *limit) {
  position.base[dim] = at;
  sizes[dim] = size;
  laneLimit = limit ? limit : laneLimit;
  bound[dim] = size == 1 && int(dim) != tiling.vectorDim;
  parallelLoops(dim + 1);
  bound[dim] = false;
  laneLimit = limit ? nullptr : laneLimit;
  position.base[dim] = b.getInt64(0);
}

//===-- tiles -------------------------------------------------------------===//

/// Sets the lanes [offset, offset + lanes) of a vector dimension with `size`
/// positions.
void NestEmitter::addLanes(Instance &instance, unsigned dim, int64_t offset,
                           int64_t size) {
  if (offset + tiling.lanes > size) {
    instance.lanes = size - offset;
    instance.mask = firstLanes(b.getInt32(size - offset), tiling.lanes);
  } else if (laneLimit && !nest.isReduced(dim)) {
    Value *left = b.CreateNSWSub(laneLimit, position.base[dim]);
    instance.lanes = 0;
    instance.mask =
        firstLanes(b.CreateTrunc(left, b.getInt32Ty()), tiling.lanes);
  }
}

Value *NestEmitter::firstLanes(Value *count, unsigned lanes) {
  return b.CreateICmpULT(b.iota(lanes), b.splat(count, lanes));
}

/// The positions of the tile along dimensions [first, last).
SmallVector<Instance> NestEmitter::instancesOf(unsigned first, unsigned last) {
  SmallVector<Instance> all = {Instance{SmallVector<int64_t>(nest.dims(), 0)}};
  for (unsigned dim = first; dim < last; ++dim) {
    bool vector = int(dim) == tiling.vectorDim && tiling.lanes > 1;
    SmallVector<Instance> next;
    for (const Instance &instance : all)
      for (int64_t offset = 0; offset < sizes[dim];
           offset += vector ? tiling.lanes : 1) {
        next.push_back(instance);
        next.back().offset[dim] = offset;
        if (vector)
          addLanes(next.back(), dim, offset, sizes[dim]);
      }
    all = std::move(next);
  }
  return all;
}

void NestEmitter::emitTile() {
  memory.forget();
  SmallVector<Instance> instances = instancesOf(0, nest.parallel);
  if (!nest.hasReduction())
    return finish(instances, {});
  Values accumulators = reduce(instances);
  memory.forget();
  Position before = position;
  if (isVectorReduced())
    combineLanes(instances, accumulators);
  for (auto [i, value] : enumerate(accumulators))
    value = combiners[i % valueCount()].finish(value);
  finish(instances, accumulators);
  position.lanes = before.lanes;
  position.vectorDim = before.vectorDim;
}

/// Runs the `then` region on every position and stores the results after all
/// reads.
void NestEmitter::finish(ArrayRef<Instance> instances,
                         ArrayRef<Value *> accumulators) {
  SmallVector<Values> results;
  for (auto [i, at] : enumerate(instances)) {
    Values arguments(accumulators.slice(i * valueCount(), valueCount()));
    for (unsigned input = nest.mapInputs; input < nest.inputs.size(); ++input)
      arguments.push_back(memory.load(input, at));
    auto indexOf = [&](int64_t dim) { return memory.index(dim, at); };
    results.push_back(RegionEmitter(b, nest.then(), indexOf).run(arguments));
  }
  for (auto [at, values] : zip(instances, results))
    for (auto [output, value] : enumerate(values))
      memory.store(output, at, value);
}

//===-- reduced dimensions ------------------------------------------------===//

Values NestEmitter::reduce(ArrayRef<Instance> instances) {
  Values initial;
  for (unsigned i = 0; i < chains() * instances.size(); ++i)
    for (Combiner &combiner : combiners)
      initial.push_back(b.splat(combiner.identity(), tiling.lanes));
  return reduceLoops(nest.parallel, instances, initial);
}

Values NestEmitter::reduceLoops(unsigned dim, ArrayRef<Instance> instances,
                                ArrayRef<Value *> carried) {
  if (dim == nest.dims())
    return accumulate(instances, carried);
  auto step = [&](Value *at, int64_t size, ArrayRef<Value *> values) {
    position.base[dim] = at;
    sizes[dim] = size;
    Values next = reduceLoops(dim + 1, instances, values);
    position.base[dim] = b.getInt64(0);
    return next;
  };
  int64_t extent = nest.extents[dim],
          size = std::min(tiling.sizes[dim], extent);
  int64_t whole = extent / size * size;
  Values results = b.loop(b.getInt64(0), b.getInt64(whole), size, carried,
                          [&](Value *iv, ArrayRef<Value *> values) {
                            return step(iv, size, values);
                          });
  return whole < extent ? step(b.getInt64(whole), extent - whole, results)
                        : results;
}

/// One iteration of the innermost loop: all unrolled reduced points of all
/// positions. Accumulators are ordered by chain, then position, then value.
Values NestEmitter::accumulate(ArrayRef<Instance> instances,
                               ArrayRef<Value *> carried) {
  memory.forget();
  Values results(carried);
  for (const Instance &point : instancesOf(nest.parallel, nest.dims())) {
    unsigned chain =
        isVectorReduced() ? point.offset[tiling.vectorDim] / tiling.lanes : 0;
    for (auto [i, instance] : enumerate(instances)) {
      Instance at = instance;
      for (unsigned dim = nest.parallel; dim < nest.dims(); ++dim)
        at.offset[dim] = point.offset[dim];
      at.mask = isVectorReduced() ? point.mask : instance.mask;
      at.lanes = isVectorReduced() ? point.lanes : instance.lanes;
      MutableArrayRef<Value *> own = MutableArrayRef<Value *>(results).slice(
          (chain * instances.size() + i) * valueCount(), valueCount());
      llvm::copy(accumulateAt(at, own), own.begin());
    }
  }
  return results;
}

/// Adds one reduced point (a lane) to the accumulators of one position.
Values NestEmitter::accumulateAt(const Instance &at,
                                 ArrayRef<Value *> carried) {
  Values arguments, sums;
  for (unsigned input = 0; input < nest.mapInputs; ++input)
    arguments.push_back(memory.load(input, at));
  for (auto [combiner, value] : zip(combiners, carried))
    sums.push_back(combiner.isPlainSum() ? value : nullptr);
  auto indexOf = [&](int64_t dim) { return memory.index(dim, at); };
  Values results =
      RegionEmitter(b, nest.map(), indexOf).runInto(arguments, sums);
  for (unsigned i = 0; i < results.size(); ++i) {
    if (!sums[i])
      results[i] = combiners[i].add(carried[i], results[i]);
    if (isVectorReduced() && at.mask &&
        !(sums[i] && isZeroInMaskedLanes(yielded(i))))
      results[i] = b.CreateSelect(at.mask, results[i], carried[i]);
  }
  return results;
}

mlir::Value NestEmitter::yielded(unsigned i) const {
  return nest.map().front().getTerminator()->getOperand(i);
}

/// Whether masked lanes add nothing to a sum: the elements that are read there
/// are zeros, and so are their products.
bool NestEmitter::isZeroInMaskedLanes(mlir::Value value) const {
  if (auto argument = dyn_cast<mlir::BlockArgument>(value)) {
    const Access &access = nest.inputs[argument.getArgNumber()];
    LaneStep::Kind kind =
        laneStep(nest, access, tiling.vectorDim, tiling.lanes).kind;
    return kind != LaneStep::same && kind != LaneStep::repeated;
  }
  mlir::Operation *op = value.getDefiningOp();
  return isa<mlir::arith::MulFOp, mlir::arith::ExtFOp>(op) &&
         llvm::all_of(op->getOperands(),
                      [&](mlir::Value v) { return isZeroInMaskedLanes(v); });
}

/// Combines the chains and lanes of a reduced vector dimension. Positions along
/// the tiling's `finishDim` become the lanes of new vectors.
void NestEmitter::combineLanes(SmallVector<Instance> &instances,
                               Values &accumulators) {
  unsigned count = instances.size() * valueCount();
  for (unsigned i = 0; i < count; ++i)
    for (unsigned chain = 1; chain < chains(); ++chain)
      accumulators[i] = combiners[i % valueCount()].join(
          accumulators[i], accumulators[chain * count + i]);
  int64_t along = tiling.finishDim >= 0 ? sizes[tiling.finishDim] : 1;
  int64_t group = std::min<int64_t>(along, tiling.lanes);
  position.vectorDim = tiling.finishDim;
  position.lanes = PowerOf2Ceil(group);
  SmallVector<Instance> newInstances;
  Values newAccumulators;
  for (auto [i, instance] : enumerate(instances)) {
    int64_t offset =
        tiling.finishDim >= 0 ? instance.offset[tiling.finishDim] : 0;
    if (offset % group != 0)
      continue;
    newInstances.push_back({instance.offset});
    int64_t present = std::min(group, along - offset);
    if (present < position.lanes) {
      newInstances.back().lanes = present;
      newInstances.back().mask =
          firstLanes(b.getInt32(present), position.lanes);
    }
    for (unsigned value = 0; value < valueCount(); ++value)
      newAccumulators.push_back(
          gather(instances, accumulators, i, value, present));
  }
  instances = std::move(newInstances);
  accumulators = std::move(newAccumulators);
}

/// Gathers the lane sums of `present` positions along finishDim, from instance
/// `first` on, into a vector.
Value *NestEmitter::gather(ArrayRef<Instance> instances,
                           ArrayRef<Value *> accumulators, unsigned first,
                           unsigned value, int64_t present) {
  Values own;
  for (unsigned i = first;
       i < instances.size() && int64_t(own.size()) < present; ++i) {
    bool sameLine = true;
    for (unsigned dim = 0; dim < nest.parallel; ++dim)
      sameLine &= int(dim) == tiling.finishDim ||
                  instances[i].offset[dim] == instances[first].offset[dim];
    if (sameLine)
      own.push_back(accumulators[i * valueCount() + value]);
  }
  Value *all = combiners[value].acrossLanes(own);
  unsigned lanes = lanesOf(all);
  if (lanes == 1 || lanes == position.lanes)
    return b.splat(all, position.lanes);
  SmallVector<int> kept;
  for (unsigned lane = 0; lane < position.lanes; ++lane)
    kept.push_back(lane < lanes ? int(lane) : PoisonMaskElem);
  return b.CreateShuffleVector(all, kept);
}

void gradus::emitNest(CpuBuilder &builder, const Nest &nest,
                      const Tiling &tiling, const Items &items,
                      PointerOf pointerOf) {
  NestEmitter(builder, nest, tiling, items, pointerOf).emit();
}
