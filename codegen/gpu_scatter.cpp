// Threads of a block have 8 neighbouring indices each, and count which of them
// name a slice of the block's own; sums of those counts over the threads before
// say where in the block's list each one stands.

#include "codegen/gpu_scatter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace gradus;

using Values = GpuBuilder::Values;
using Is = arith::CmpIPredicate;

/// Indices that a thread looks at one after the other, and a block; what a
/// list holds when a block has read as many as it may before it sums up.
static constexpr int64_t kEach = 8, kAtOnce = kEach * kBlock,
                         kMostListed = 2 * kAtOnce;
/// Slices of a list that are on the way before the first is added.
static constexpr int64_t kAhead = 8;
/// Indices that each thread looks at for itself, whatever else.
static constexpr int64_t kFew = 4;

//===-- which blocks do what ----------------------------------------------===//

/// Slices of a block, which are as many as threads; fewer where blocks would
/// not fill a card, but of so many vectors that going through the indices is
/// less work.
static constexpr int64_t kMostSlices = kBlock, kFewestVectors = 8192,
                         kManyBlocks = 264;

static ScatterMapping blocksOf(const GatherSizes &sizes, Type element) {
  ScatterMapping mapping;
  int64_t rows = sizes.batch * sizes.outer;
  mapping.vector = indexedVector(sizes, element);
  mapping.slices = kMostSlices;
  int64_t columns = sizes.inner / mapping.vector,
          fewest = std::max(sizes.count, kFewestVectors);
  while (mapping.slices / 2 * columns >= fewest &&
         rows * llvm::divideCeil(sizes.extent, mapping.slices) < kManyBlocks)
    mapping.slices /= 2;
  mapping.groups = llvm::divideCeil(sizes.extent, mapping.slices);
  int64_t bytes =
      sizes.inner * gpuMemoryType(element).getIntOrFloatBitWidth() / 8;
  mapping.isInterleaved = bytes >= 128; // of whole lines of memory
  return mapping;
}

/// Instructions, about: of blocks, and where each thread looks at all indices.
static double costOfBlocks(const GatherSizes &sizes,
                           const ScatterMapping &mapping) {
  double blocks = double(sizes.batch * sizes.outer) * double(mapping.groups);
  double rounds = double(llvm::divideCeil(sizes.count, kAtOnce));
  return blocks * (kBlock * (100 + 100 * rounds) + 10.0 * double(sizes.count));
}

static double costOfThreads(const GatherSizes &sizes,
                            const ScatterMapping &mapping) {
  return double(sizes.batch * sizes.outer * sizes.extent * sizes.inner /
                mapping.vector) *
         double(sizes.count) * 8;
}

std::optional<ScatterMapping> gradus::mapScatter(const GatherSizes &sizes,
                                                 Type element) {
  ScatterMapping mapping = blocksOf(sizes, element);
  if (sizes.count <= kFew || sizes.count >= int64_t(1) << 30 ||
      costOfThreads(sizes, mapping) <= costOfBlocks(sizes, mapping))
    return std::nullopt;
  return mapping;
}

uint64_t gradus::scatterOperations(const GatherSizes &sizes, Type element) {
  ScatterMapping mapping = blocksOf(sizes, element);
  if (!mapScatter(sizes, element))
    return uint64_t(costOfThreads(sizes, mapping));
  int64_t rows = sizes.batch * sizes.outer;
  int64_t ofElements = rows * (sizes.extent + 2 * sizes.count) * sizes.inner;
  return uint64_t(costOfBlocks(sizes, mapping)) + uint64_t(ofElements);
}

//===-- code --------------------------------------------------------------===//

namespace {

class ScatterEmitter {
public:
  ScatterEmitter(GpuBuilder &b, const ScatterMapping &mapping,
                 const IndexedBuffers &buffers, const GpuThread &thread)
      : b(b), mapping(mapping), sizes(buffers.sizes), buffers(buffers),
        thread(thread.inBlock) {}

  void addMemory(gpu::GPUFuncOp function);
  void emit(Value item);

private:
  /// An index, and the place of its slice among the block's own.
  struct Hit {
    Value isOwn, position, slice;
  };
  /// Sums of a number that each thread has: of the threads before, and of all.
  struct Sums {
    Value before, all;
  };
  /// The list of rows to sum up.
  struct List {
    Value count;
    Value isAdded; // to what is written already; null: no
  };

  Values loadIndices(Value first);
  SmallVector<Hit> findHits(Value first);
  Hit hitOf(IndexedPlace place, Value position);
  Sums sumOverThreads(Value own);
  Value collect(Value first, Value held);
  void sort(Value count);
  void sumUp(const List &list);
  void sumSlice(const List &list, Value slice, Value column);
  Values sumList(Value first, Value end, Value column, Values totals);

  Value asWord(Value position);
  Value asPosition(Value word);
  Value load(const GpuBuffer &memory, Value at);
  void store(const GpuBuffer &memory, Value at, Value position);

  GpuBuilder &b;
  const ScatterMapping &mapping;
  const GatherSizes &sizes;
  const IndexedBuffers &buffers;
  Value thread, row, group;
  GpuBuffer positions, slices; // of hits, in the order of the indices
  GpuBuffer sorted, firsts;    // by slice, and where each slice's begin
  GpuBuffer warps;
};

} // namespace

//===-- shared memory -----------------------------------------------------===//

void ScatterEmitter::addMemory(gpu::GPUFuncOp function) {
  auto add = [&](unsigned bits, int64_t count) -> GpuBuffer {
    return {addShared(b, function, b.getIntegerType(bits), count), {}};
  };
  int64_t most = sizes.count <= kAtOnce ? kAtOnce : kMostListed;
  positions = add(32, most);
  slices = add(8, most);
  sorted = add(32, most);
  firsts = add(32, kBlock + 1);
  warps = add(32, kBlock / kWarp);
}

Value ScatterEmitter::asWord(Value position) {
  return position.getType().isInteger(32)
             ? position
             : b.createOrFold<arith::IndexCastOp>(b.getI32Type(), position);
}

Value ScatterEmitter::asPosition(Value word) {
  return b.position(b.createOrFold<arith::IndexCastOp>(b.getIndexType(), word));
}

Value ScatterEmitter::load(const GpuBuffer &memory, Value at) {
  Type type = cast<MemRefType>(memory.memory.getType()).getElementType();
  Value value = loadGpuElement(b, memory, type, at);
  if (!type.isInteger(32))
    value = b.createOrFold<arith::ExtUIOp>(b.getI32Type(), value);
  return asPosition(value);
}

void ScatterEmitter::store(const GpuBuffer &memory, Value at, Value position) {
  Type type = cast<MemRefType>(memory.memory.getType()).getElementType();
  Value value = asWord(position);
  if (!type.isInteger(32))
    value = b.createOrFold<arith::TruncIOp>(type, value);
  storeGpuElement(b, memory, type, at, value);
}

//===-- the list ----------------------------------------------------------===//

/// Loads the indices from `first` on; behind the last, it repeats others.
Values ScatterEmitter::loadIndices(Value first) {
  Values indices;
  bool isWhole = sizes.count % kEach == 0;
  int64_t vector =
      isWhole ? kVectorBytes / (buffers.index.getIntOrFloatBitWidth() / 8) : 1;
  Value begin = b.mul(b.quotient(row, sizes.outer), sizes.count);
  for (int64_t n = 0; n < kEach; n += vector) {
    Value at = b.createOrFold<arith::MinSIOp>(
        b.add(first, b.number(n)),
        b.number(sizes.count - (isWhole ? kEach - n : 1)));
    llvm::append_range(indices, loadIndexed(b, buffers.indices, buffers.index,
                                            b.add(begin, at), vector));
  }
  return indices;
}

ScatterEmitter::Hit ScatterEmitter::hitOf(IndexedPlace place, Value position) {
  // Outside of the table the place is any number, and its sums could overflow.
  place.position =
      arith::SelectOp::create(b, place.isInside, place.position, b.number(0));
  Value isThere = b.isBelow(position, b.number(sizes.count)), isOwn, slice;
  if (mapping.isInterleaved) {
    slice = b.quotient(place.position, mapping.groups);
    isOwn = b.createOrFold<arith::CmpIOp>(
        Is::eq, place.position, b.add(b.mul(slice, mapping.groups), group));
  } else {
    slice = b.createOrFold<arith::SubIOp>(place.position,
                                          b.mul(group, mapping.slices));
    isOwn =
        b.createOrFold<arith::CmpIOp>(Is::ult, slice, b.number(mapping.slices));
  }
  Value isValid = b.createOrFold<arith::AndIOp>(isThere, place.isInside);
  return {b.createOrFold<arith::AndIOp>(isValid, isOwn), position, slice};
}

SmallVector<ScatterEmitter::Hit> ScatterEmitter::findHits(Value first) {
  SmallVector<Hit> hits;
  for (auto [n, index] : llvm::enumerate(loadIndices(first)))
    hits.push_back(hitOf(indexedPlace(b, sizes, index),
                         b.add(first, b.number(int64_t(n)))));
  return hits;
}

/// Within a warp, groups of twice as many threads each time tell each other
/// their sums.
ScatterEmitter::Sums ScatterEmitter::sumOverThreads(Value own) {
  Value before = b.number(0), all = own, lane = b.remainder(thread, kWarp),
        warp = b.quotient(thread, kWarp);
  for (unsigned mask = 1; mask < kWarp; mask *= 2) {
    Value others =
        asPosition(gpu::ShuffleOp::create(b, asWord(all), mask, kWarp,
                                          gpu::ShuffleMode::XOR)
                       .getShuffleResult());
    Value isUpper = b.createOrFold<arith::CmpIOp>(
        Is::ne, b.remainder(b.quotient(lane, mask), 2), b.number(0));
    before = b.add(
        before, b.createOrFold<arith::SelectOp>(isUpper, others, b.number(0)));
    all = b.add(all, others);
  }
  Value isFirst = b.createOrFold<arith::CmpIOp>(Is::eq, lane, b.number(0));
  b.when(isFirst, [&] { store(warps, warp, all); });
  gpu::BarrierOp::create(b);
  Value total = b.number(0);
  for (int64_t w = 0; w < kBlock / kWarp; ++w) {
    Value part = load(warps, b.number(w));
    before =
        b.add(before, b.createOrFold<arith::SelectOp>(
                          b.isBelow(b.number(w), warp), part, b.number(0)));
    total = b.add(total, part);
  }
  return {before, total};
}

/// How many the list has then.
Value ScatterEmitter::collect(Value first, Value held) {
  SmallVector<Hit> hits = findHits(b.add(first, b.mul(thread, kEach)));
  auto one = [&](const Hit &hit) {
    return b.createOrFold<arith::SelectOp>(hit.isOwn, b.number(1), b.number(0));
  };
  Value own = b.number(0);
  for (const Hit &hit : hits)
    own = b.add(own, one(hit));
  Sums sums = sumOverThreads(own);
  Value at = b.add(held, sums.before);
  for (const Hit &hit : hits) {
    b.when(hit.isOwn, [&] {
      store(positions, at, hit.position);
      store(slices, at, hit.slice);
    });
    at = b.add(at, one(hit));
  }
  gpu::BarrierOp::create(b);
  return b.add(held, sums.all);
}

/// Thread t finds those of slice t, first how many, then which.
void ScatterEmitter::sort(Value count) {
  Value seen = b.createOrFold<arith::SelectOp>(
      b.isBelow(thread, b.number(mapping.slices)), count, b.number(0));
  auto isOwn = [&](Value n) {
    return b.createOrFold<arith::CmpIOp>(Is::eq, load(slices, n), thread);
  };
  Values own = b.loop(b.number(0), seen, b.number(1), {b.number(0)},
                      [&](Value n, ValueRange found) -> Values {
                        Value one = b.createOrFold<arith::SelectOp>(
                            isOwn(n), b.number(1), b.number(0));
                        return {b.add(found[0], one)};
                      });
  Value first = sumOverThreads(own[0]).before;
  store(firsts, thread, first);
  Value isLast =
      b.createOrFold<arith::CmpIOp>(Is::eq, thread, b.number(kBlock - 1));
  b.when(isLast, [&] { store(firsts, b.number(kBlock), count); });
  b.loop(b.number(0), seen, b.number(1), {first},
         [&](Value n, ValueRange at) -> Values {
           return {b.choose(
               isOwn(n),
               [&] {
                 store(sorted, at[0], load(positions, n));
                 return b.add(at[0], b.number(1));
               },
               at[0])};
         });
  gpu::BarrierOp::create(b);
}

//===-- sums --------------------------------------------------------------===//

/// The column's part of each slice of the list added, in order. Slices that
/// are frequent have several on the way at a time.
Values ScatterEmitter::sumList(Value first, Value end, Value column,
                               Values totals) {
  auto loadAt = [&](Value n) {
    Value slice = b.add(b.mul(row, sizes.count), load(sorted, n));
    return loadIndexed(b, buffers.source, buffers.element,
                       b.add(b.mul(slice, sizes.inner), column),
                       mapping.vector);
  };
  totals = b.loop(first, b.add(end, b.number(1 - kAhead)), b.number(kAhead),
                  totals, [&](Value n, ValueRange all) -> Values {
                    SmallVector<Values> ahead;
                    for (int64_t k = 0; k < kAhead; ++k)
                      ahead.push_back(loadAt(b.add(n, b.number(k))));
                    Values sums(all);
                    for (const Values &values : ahead)
                      sums = addIndexed(b, sums, values);
                    return sums;
                  });
  Value count = b.createOrFold<arith::SubIOp>(end, first);
  Value rest =
      b.add(first, b.createOrFold<arith::AndIOp>(count, b.number(-kAhead)));
  return b.loop(rest, end, b.number(1), totals,
                [&](Value n, ValueRange all) -> Values {
                  return addIndexed(b, all, loadAt(n));
                });
}

/// A vector of a slice; of one that is written already, only if there is
/// something to add.
void ScatterEmitter::sumSlice(const List &list, Value slice, Value column) {
  Value first = load(firsts, slice),
        end = load(firsts, b.add(slice, b.number(1)));
  Value at = mapping.isInterleaved ? b.add(b.mul(slice, mapping.groups), group)
                                   : b.add(b.mul(group, mapping.slices), slice);
  Value isWanted = b.isBelow(at, b.number(sizes.extent));
  if (list.isAdded) {
    Value isFresh = b.createOrFold<arith::CmpIOp>(
        Is::eq, list.isAdded,
        arith::ConstantOp::create(b, b.getBoolAttr(false)));
    Value isAny = b.createOrFold<arith::OrIOp>(isFresh, b.isBelow(first, end));
    isWanted = b.createOrFold<arith::AndIOp>(isWanted, isAny);
  }
  b.when(isWanted, [&] {
    Value place = b.add(b.mul(row, sizes.extent), at);
    place = b.add(b.mul(place, sizes.inner), column);
    Values totals = indexedZeros(b, buffers.element, mapping.vector);
    auto written = [&] {
      return addIndexed(
          b, totals,
          loadIndexed(b, buffers.out, buffers.element, place, mapping.vector));
    };
    if (list.isAdded)
      totals = chooseAll(b, list.isAdded, written, totals);
    totals = sumList(first, end, column, totals);
    storeIndexed(b, buffers.out, buffers.element, place,
                 narrowIndexed(b, buffers.element, totals));
  });
}

void ScatterEmitter::sumUp(const List &list) {
  sort(list.count);
  int64_t columns = sizes.inner / mapping.vector;
  b.loop(thread, b.number(mapping.slices * columns), b.number(kBlock),
         [&](Value point) {
           Value slice = b.quotient(point, columns);
           Value column =
               b.createOrFold<arith::SubIOp>(point, b.mul(slice, columns));
           sumSlice(list, slice, b.mul(column, mapping.vector));
         });
  gpu::BarrierOp::create(b); // the next list takes the memory of this one
}

/// The list is summed up when another 2,048 might not fit.
void ScatterEmitter::emit(Value item) {
  row = b.quotient(item, mapping.groups);
  group = b.remainder(item, mapping.groups);
  if (sizes.count <= kAtOnce)
    return sumUp({collect(b.number(0), b.number(0)), {}});
  Value no = arith::ConstantOp::create(b, b.getBoolAttr(false));
  b.loop(b.number(0), b.number(sizes.count), b.number(kAtOnce),
         {b.number(0), no}, [&](Value first, ValueRange state) -> Values {
           Value held = collect(first, state[0]);
           Value isLast = b.createOrFold<arith::CmpIOp>(
               Is::sge, first, b.number(sizes.count - kAtOnce));
           Value isFull = b.isBelow(b.number(kMostListed - kAtOnce), held);
           Value isDue = b.createOrFold<arith::OrIOp>(isLast, isFull);
           b.when(isDue, [&] { sumUp({held, state[1]}); });
           return {b.createOrFold<arith::SelectOp>(isDue, b.number(0), held),
                   b.createOrFold<arith::OrIOp>(isDue, state[1])};
         });
}

void gradus::emitScatter(GpuBuilder &b, const ScatterMapping &mapping,
                         const IndexedBuffers &buffers, Value item,
                         gpu::GPUFuncOp function, const GpuThread &thread) {
  ScatterEmitter emitter(b, mapping, buffers, thread);
  emitter.addMemory(function);
  emitter.emit(item);
}
