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
              const Items &items, PointerOf pointerOf, const PointCall *call);
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
  void callFor(ArrayRef<Instance> instances);
  Value *ahead(const Access &access);
  void finish(ArrayRef<Instance> instances, ArrayRef<Value *> accumulators);
  // Reduced dimensions:
  void ask(ArrayRef<Instance> instances, Value *round);
  void askFor(ArrayRef<Instance> instances, Value *number, unsigned rows);
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
    return tiling_.vectorDim >= 0 && nest_.isReduced(tiling_.vectorDim);
  }
  /// Whether one vector has all positions along a dimension. Sums need their
  /// registers for themselves.
  bool isOneVector(unsigned dim) const {
    return int(dim) == tiling_.vectorDim && !nest_.hasReduction() &&
           int(dim) != nest_.itemDim && nest_.extents[dim] == tiling_.lanes;
  }
  /// The number of accumulators per instance for a reduced vector dimension,
  /// which are independent chains.
  unsigned chains() const {
    return isVectorReduced() ? tiling_.sizes[tiling_.vectorDim] / tiling_.lanes
                             : 1;
  }
  unsigned valueCount() const { return nest_.combine.size(); }

  CpuBuilder &b_;
  const Nest &nest_;
  const Tiling &tiling_;
  const Items &items_;
  const PointCall *call_;
  Position position_;
  NestMemory memory_;
  SmallVector<int64_t> sizes_; // of the current tile
  Value *laneLimit_ =
      nullptr;              // the end of the vector dimension if not constant
  SmallVector<bool> bound_; // dimensions of the loops around, per position
  SmallVector<Combiner> combiners_;
  SmallVector<unsigned> asked_; // inputs that only have to be in the cache
};

} // namespace

NestEmitter::NestEmitter(CpuBuilder &builder, const Nest &nest,
                         const Tiling &tiling, const Items &items,
                         PointerOf pointerOf, const PointCall *call)
    : b_(builder), nest_(nest), tiling_(tiling), items_(items), call_(call),
      memory_(builder, nest, position_, pointerOf), sizes_(nest.dims(), 1),
      bound_(nest.dims(), false) {
  position_.base.assign(nest.dims(), b_.getInt64(0));
  position_.vectorDim = tiling.vectorDim;
  position_.lanes = tiling.lanes;
  position_.sizes = sizes_;
  for (unsigned input = nest.mapInputs; input < nest.inputs.size(); ++input)
    if (nest.isAsked(input))
      asked_.push_back(input);
  if (nest.hasReduction())
    for (auto [kind, value] :
         zip(nest.combine, nest.map().front().getTerminator()->getOperands()))
      combiners_.push_back(Combiner(b_, kind, value.getType()));
}

//===-- parallel dimensions -----------------------------------------------===//

void NestEmitter::parallelLoops(unsigned dim) {
  Instance here{SmallVector<int64_t>(nest_.dims(), 0)};
  SmallVector<unsigned> hoisted;
  if (!call_) // else the function reads
    hoisted = memory_.hoist(
        [&](unsigned d) { return bound_[d] || isOneVector(d); }, here);
  if (dim == nest_.parallel)
    emitTile();
  else if (int(dim) == nest_.itemDim)
    itemLoops(dim);
  else if (nest_.isLoop(dim))
    fixedLoops(dim, items_.loops[dim - 1], 1);
  else
    fixedLoops(dim, b_.getInt64(0), nest_.extents[dim]);
  memory_.release(hoisted);
}

/// Loops over the dimension that is divided into items.
void NestEmitter::itemLoops(unsigned dim) {
  Value *length = b_.getInt64(nest_.itemLength);
  Value *begin = b_.CreateNSWMul(items_.begin, length);
  if (items_.count >= 0)
    return fixedLoops(dim, begin, items_.count * nest_.itemLength);
  Value *end = b_.CreateNSWMul(items_.end, length);
  int64_t size = tiling_.sizes[dim];
  Value *whole = b_.CreateNSWSub(end, begin);
  Value *rest =
      size == 1 ? b_.getInt64(0) : b_.CreateSRem(whole, b_.getInt64(size));
  Value *middle = b_.CreateNSWSub(end, rest);
  b_.loop(begin, middle, size, [&](Value *iv) { step(dim, iv, size); });
  if (size == 1)
    return;
  bool vector = int(dim) == tiling_.vectorDim;
  int64_t single = vector ? tiling_.lanes : 1;
  b_.loop(middle, end, single,
          [&](Value *iv) { step(dim, iv, single, vector ? end : nullptr); });
}

/// Loops over a constant number of positions: whole tiles, then a rest.
void NestEmitter::fixedLoops(unsigned dim, Value *origin, int64_t extent) {
  int64_t size = std::min(tiling_.sizes[dim], extent),
          whole = extent / size * size;
  b_.loop(b_.getInt64(0), b_.getInt64(whole), size,
          [&](Value *iv) { step(dim, b_.CreateNSWAdd(origin, iv), size); });
  if (whole < extent)
    step(dim, b_.CreateNSWAdd(origin, b_.getInt64(whole)), extent - whole);
}

void NestEmitter::step(unsigned dim, Value *at, int64_t size, Value *limit) {
  position_.base[dim] = at;
  sizes_[dim] = size;
  laneLimit_ = limit ? limit : laneLimit_;
  bound_[dim] = size == 1 && int(dim) != tiling_.vectorDim;
  parallelLoops(dim + 1);
  bound_[dim] = false;
  laneLimit_ = limit ? nullptr : laneLimit_;
  position_.base[dim] = b_.getInt64(0);
}

//===-- tiles -------------------------------------------------------------===//

/// Sets the lanes [offset, offset + lanes) of a vector dimension with `size`
/// positions.
void NestEmitter::addLanes(Instance &instance, unsigned dim, int64_t offset,
                           int64_t size) {
  if (offset + tiling_.lanes > size) {
    instance.lanes = size - offset;
    instance.mask = firstLanes(b_.getInt32(size - offset), tiling_.lanes);
  } else if (laneLimit_ && !nest_.isReduced(dim)) {
    Value *left = b_.CreateNSWSub(laneLimit_, position_.base[dim]);
    instance.lanes = 0;
    instance.mask =
        firstLanes(b_.CreateTrunc(left, b_.getInt32Ty()), tiling_.lanes);
  }
}

Value *NestEmitter::firstLanes(Value *count, unsigned lanes) {
  return b_.CreateICmpULT(b_.iota(lanes), b_.splat(count, lanes));
}

/// The positions of the tile along dimensions [first, last).
SmallVector<Instance> NestEmitter::instancesOf(unsigned first, unsigned last) {
  SmallVector<Instance> all = {Instance{SmallVector<int64_t>(nest_.dims(), 0)}};
  for (unsigned dim = first; dim < last; ++dim) {
    bool vector = int(dim) == tiling_.vectorDim && tiling_.lanes > 1;
    SmallVector<Instance> next;
    for (const Instance &instance : all)
      for (int64_t offset = 0; offset < sizes_[dim];
           offset += vector ? tiling_.lanes : 1) {
        next.push_back(instance);
        next.back().offset[dim] = offset;
        if (vector)
          addLanes(next.back(), dim, offset, sizes_[dim]);
      }
    all = std::move(next);
  }
  return all;
}

void NestEmitter::emitTile() {
  memory_.forget();
  SmallVector<Instance> instances = instancesOf(0, nest_.parallel);
  if (call_)
    return callFor(instances);
  if (!nest_.hasReduction())
    return finish(instances, {});
  Values accumulators = reduce(instances);
  memory_.forget();
  Position before = position_;
  if (isVectorReduced())
    combineLanes(instances, accumulators);
  for (auto [i, value] : enumerate(accumulators))
    value = combiners_[i % valueCount()].finish(value);
  finish(instances, accumulators);
  position_.lanes = before.lanes;
  position_.vectorDim = before.vectorDim;
}

void NestEmitter::callFor(ArrayRef<Instance> instances) {
  for (const Instance &at : instances) {
    Values arguments = {call_->table};
    for (unsigned first : call_->firsts)
      arguments.push_back(memory_.address(accessOf(nest_, first), at));
    if (call_->asked)
      arguments.push_back(ahead(*call_->asked));
    b_.CreateCall(call_->function, arguments);
  }
}

/// The bytes from an access to that of a position some rounds ahead: along the
/// innermost dimension, and where this ends in the dimension around it.
Value *NestEmitter::ahead(const Access &access) {
  constexpr int64_t rounds = 2; // with 1 they are still on the way
  int64_t bytes = divideCeil(access.element.getIntOrFloatBitWidth(), 8);
  SmallVector<unsigned> dims; // the innermost first
  for (unsigned dim = nest_.parallel; dim-- > 0;)
    if (int(dim) != tiling_.vectorDim && int(dim) != nest_.itemDim &&
        nest_.extents[dim] > sizes_[dim] && access.place.strides[dim])
      dims.push_back(dim);
  Value *zero = b_.getInt64(0), *carried = zero;
  for (unsigned number = dims.size(); number-- > 1;) {
    unsigned inner = dims[number - 1];
    int64_t step = sizes_[dims[number]] * access.place.strides[dims[number]],
            back = nest_.extents[inner] * access.place.strides[inner],
            steps = number == 1 ? rounds : 1;
    Value *ends = b_.CreateICmpSGE(
        position_.base[inner],
        b_.getInt64(nest_.extents[inner] - steps * sizes_[inner]));
    carried = b_.CreateSelect(
        ends, b_.CreateNSWAdd(carried, b_.getInt64((step - back) * bytes)),
        zero);
  }
  int64_t step = dims.empty() ? 0
                              : std::min(rounds * sizes_[dims[0]],
                                         nest_.extents[dims[0]]) *
                                    access.place.strides[dims[0]];
  return b_.CreateNSWAdd(carried, b_.getInt64(step * bytes));
}

/// Runs the `then` region on every position and stores the results after all
/// reads.
void NestEmitter::finish(ArrayRef<Instance> instances,
                         ArrayRef<Value *> accumulators) {
  SmallVector<Values> results;
  for (auto [i, at] : enumerate(instances)) {
    Values arguments(accumulators.slice(i * valueCount(), valueCount()));
    for (unsigned input = nest_.mapInputs; input < nest_.inputs.size(); ++input)
      arguments.push_back(nest_.isAsked(input) ? nullptr
                                               : memory_.load(input, at));
    auto indexOf = [&](int64_t dim) { return memory_.index(dim, at); };
    results.push_back(RegionEmitter(b_, nest_.then(), indexOf).run(arguments));
  }
  for (auto [at, values] : zip(instances, results))
    memory_.store(at, values);
}

//===-- reduced dimensions ------------------------------------------------===//

/// Asks for a vector of each input that the `then` region does not use, in each
/// of the first rounds another one of the tile. They go to the second cache:
/// the first has the terms of the sums.
void NestEmitter::ask(ArrayRef<Instance> instances, Value *round) {
  SmallVector<unsigned> tiled;
  for (unsigned dim = 0; dim < nest_.parallel; ++dim)
    if (sizes_[dim] > 1 && int(dim) != tiling_.vectorDim)
      tiled.push_back(dim);
  if (asked_.empty() || tiled.size() != 1 || tiling_.vectorDim < 0 ||
      isVectorReduced())
    return;
  int64_t count = instances.size();
  b_.loop(round, b_.getInt64(count), count,
          [&](Value *number) { askFor(instances, number, tiled[0]); });
}

/// Asks for the vectors that a position of a tile will read.
void NestEmitter::askFor(ArrayRef<Instance> instances, Value *number,
                         unsigned rows) {
  constexpr unsigned second = 2;
  Value *vectors = b_.getInt64(int64_t(instances.size()) / sizes_[rows]),
        *row = b_.CreateUDiv(number, vectors),
        *lane = b_.CreateNSWMul(b_.CreateURem(number, vectors),
                                b_.getInt64(tiling_.lanes));
  for (unsigned input : asked_) {
    const Access &access = nest_.inputs[input];
    ArrayRef<int64_t> strides = access.place.strides;
    Value *offset = b_.CreateNSWAdd(
        b_.CreateNSWMul(row, b_.getInt64(strides[rows])),
        b_.CreateNSWMul(lane, b_.getInt64(strides[tiling_.vectorDim])));
    Value *address =
        b_.CreateGEP(memoryType(b_, access.element),
                     memory_.address(access, instances.front()), offset);
    b_.askFor(address, second);
  }
}

Values NestEmitter::reduce(ArrayRef<Instance> instances) {
  Values initial;
  for (unsigned i = 0; i < chains() * instances.size(); ++i)
    for (Combiner &combiner : combiners_)
      initial.push_back(b_.splat(combiner.identity(), tiling_.lanes));
  return reduceLoops(nest_.parallel, instances, initial);
}

Values NestEmitter::reduceLoops(unsigned dim, ArrayRef<Instance> instances,
                                ArrayRef<Value *> carried) {
  if (dim == nest_.dims())
    return accumulate(instances, carried);
  auto step = [&](Value *at, int64_t size, ArrayRef<Value *> values) {
    position_.base[dim] = at;
    sizes_[dim] = size;
    Values next = reduceLoops(dim + 1, instances, values);
    position_.base[dim] = b_.getInt64(0);
    return next;
  };
  int64_t extent = nest_.extents[dim],
          size = std::min(tiling_.sizes[dim], extent);
  int64_t whole = extent / size * size;
  Values results =
      b_.loop(b_.getInt64(0), b_.getInt64(whole), size, carried,
              [&](Value *iv, ArrayRef<Value *> values) {
                if (dim == nest_.parallel)
                  ask(instances, b_.CreateUDiv(iv, b_.getInt64(size)));
                return step(iv, size, values);
              });
  return whole < extent ? step(b_.getInt64(whole), extent - whole, results)
                        : results;
}

/// One iteration of the innermost loop: all unrolled reduced points of all
/// positions. Accumulators are ordered by chain, then position, then value.
Values NestEmitter::accumulate(ArrayRef<Instance> instances,
                               ArrayRef<Value *> carried) {
  memory_.forget();
  Values results(carried);
  for (const Instance &point : instancesOf(nest_.parallel, nest_.dims())) {
    unsigned chain =
        isVectorReduced() ? point.offset[tiling_.vectorDim] / tiling_.lanes : 0;
    for (auto [i, instance] : enumerate(instances)) {
      Instance at = instance;
      for (unsigned dim = nest_.parallel; dim < nest_.dims(); ++dim)
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
  for (unsigned input = 0; input < nest_.mapInputs; ++input)
    arguments.push_back(memory_.load(input, at));
  for (auto [combiner, value] : zip(combiners_, carried))
    sums.push_back(combiner.isPlainSum() ? value : nullptr);
  auto indexOf = [&](int64_t dim) { return memory_.index(dim, at); };
  Values results =
      RegionEmitter(b_, nest_.map(), indexOf).runInto(arguments, sums);
  for (unsigned i = 0; i < results.size(); ++i) {
    if (!sums[i])
      results[i] = combiners_[i].add(carried[i], results[i]);
    if (isVectorReduced() && at.mask &&
        !(sums[i] && isZeroInMaskedLanes(yielded(i))))
      results[i] = b_.CreateSelect(at.mask, results[i], carried[i]);
  }
  return results;
}

mlir::Value NestEmitter::yielded(unsigned i) const {
  return nest_.map().front().getTerminator()->getOperand(i);
}

/// Whether masked lanes add nothing to a sum: the elements that are read there
/// are zeros, and so are their products.
bool NestEmitter::isZeroInMaskedLanes(mlir::Value value) const {
  if (auto argument = dyn_cast<mlir::BlockArgument>(value)) {
    const Access &access = nest_.inputs[argument.getArgNumber()];
    LaneStep::Kind kind =
        laneStep(nest_, access, tiling_.vectorDim, tiling_.lanes).kind;
    return kind != LaneStep::same && kind != LaneStep::repeated;
  }
  mlir::Operation *op = value.getDefiningOp();
  bool isProduct = isa<plan::DotPairsOp>(op) || isa<mlir::arith::MulFOp>(op);
  return (isProduct || isa<mlir::arith::ExtFOp>(op)) &&
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
      accumulators[i] = combiners_[i % valueCount()].join(
          accumulators[i], accumulators[chain * count + i]);
  int64_t along = tiling_.finishDim >= 0 ? sizes_[tiling_.finishDim] : 1;
  int64_t group = std::min<int64_t>(along, tiling_.lanes);
  position_.vectorDim = tiling_.finishDim;
  position_.lanes = PowerOf2Ceil(group);
  SmallVector<Instance> newInstances;
  Values newAccumulators;
  for (auto [i, instance] : enumerate(instances)) {
    int64_t offset =
        tiling_.finishDim >= 0 ? instance.offset[tiling_.finishDim] : 0;
    if (offset % group != 0)
      continue;
    newInstances.push_back({instance.offset});
    int64_t present = std::min(group, along - offset);
    if (present < position_.lanes) {
      newInstances.back().lanes = present;
      newInstances.back().mask =
          firstLanes(b_.getInt32(present), position_.lanes);
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
    for (unsigned dim = 0; dim < nest_.parallel; ++dim)
      sameLine &= int(dim) == tiling_.finishDim ||
                  instances[i].offset[dim] == instances[first].offset[dim];
    if (sameLine)
      own.push_back(accumulators[i * valueCount() + value]);
  }
  Value *all = combiners_[value].acrossLanes(own);
  unsigned lanes = lanesOf(all);
  if (lanes == 1 || lanes == position_.lanes)
    return b_.splat(all, position_.lanes);
  SmallVector<int> kept;
  for (unsigned lane = 0; lane < position_.lanes; ++lane)
    kept.push_back(lane < lanes ? int(lane) : PoisonMaskElem);
  return b_.CreateShuffleVector(all, kept);
}

void gradus::emitNest(CpuBuilder &builder, const Nest &nest,
                      const Tiling &tiling, const Items &items,
                      PointerOf pointerOf, const PointCall *call) {
  NestEmitter(builder, nest, tiling, items, pointerOf, call).emit();
}
