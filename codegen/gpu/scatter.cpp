// Each thread of a block scans 8 neighbouring indices and counts those that
// name a slice of the block; the prefix sums of these counts over the threads
// give the positions in the block's list.
//
// A counting sort orders the list: some of the threads each count how often
// each slice occurs in a part of the list. The prefix sum of these counts over
// slices and parts is where the hits of each part go; the threads visit their
// parts again and write the hits there. The work is linear in the list, and the
// sort is stable.

#include "codegen/gpu/scatter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace gradus;

using Values = GpuBuilder::Values;
using Is = arith::CmpIPredicate;

static constexpr int64_t kEach = ScatterMapping::kEach;
/// The maximum number of counts for a list, one for each slice in each part; a
/// quarter of it if shared memory also holds partial sums.
static constexpr int64_t kMostCounts = 4096;
/// The slices of a list that are loaded before the first is added.
static constexpr int64_t kAhead = 8;
/// The number of indices up to which each thread scans all of them itself.
static constexpr int64_t kFew = 4;

//===-- mapping to blocks ------------------------------------------------===//

/// Slices of a block, which are as many as threads; fewer where blocks would
/// not fill a card, but of so many vectors that going through the indices is
/// less work.
static constexpr int64_t kMostSlices = 256, kFewestVectors = 8192;

/// Chooses as many threads for a block as give each 4 vectors to write, or 8
/// indices to read.
static int64_t threadsFor(const GatherSizes &sizes, int64_t vectors) {
  int64_t most = std::max(sizes.count / kEach, vectors / 4);
  return std::clamp<int64_t>(llvm::PowerOf2Ceil(most), kWarp, kBlock);
}

/// Splits the work on a few wide slices, such as a table of two token types,
/// which have long lists: each block gets 128 bytes of every slice, and its
/// threads share the lists.
static void shareLists(const GatherSizes &sizes, int64_t rows,
                       const GpuModel &gpu, ScatterMapping &mapping) {
  constexpr int64_t kMostShared = 16, kStrip = 8, kLeastHits = 64;
  if (mapping.slices > kMostShared ||
      rows * mapping.groups >= gpu.blocksAtOnce() || mapping.columns % kStrip ||
      sizes.count < kLeastHits * sizes.extent)
    return;
  mapping.strips = mapping.columns / kStrip;
  mapping.columns = kStrip;
  mapping.lanes =
      int64_t(llvm::bit_floor(uint64_t(kBlock / (mapping.slices * kStrip))));
}

static ScatterMapping blocksOf(const GatherSizes &sizes, Type element,
                               const GpuModel &gpu) {
  ScatterMapping mapping;
  int64_t rows = sizes.batch * sizes.outer;
  mapping.vector = indexedVector(sizes, element);
  mapping.slices = std::clamp<int64_t>(sizes.extent, 1, kMostSlices);
  int64_t columns = sizes.inner / mapping.vector,
          fewest = std::max(sizes.count, kFewestVectors);
  while (mapping.slices / 2 * columns >= fewest &&
         rows * int64_t(llvm::divideCeil(sizes.extent, mapping.slices)) <
             gpu.blocksAtOnce())
    mapping.slices /= 2;
  mapping.groups = llvm::divideCeil(sizes.extent, mapping.slices);
  int64_t bytes =
      sizes.inner * gpuMemoryType(element).getIntOrFloatBitWidth() / 8;
  mapping.isInterleaved = bytes >= 128; // slices are whole cache lines
  mapping.columns = columns;
  shareLists(sizes, rows, gpu, mapping);
  bool isShared = mapping.lanes > 1;
  mapping.threads =
      isShared ? kBlock : threadsFor(sizes, mapping.slices * columns);
  int64_t mostCounts = isShared ? kMostCounts / 4 : kMostCounts;
  while (mapping.parts * 2 <= mapping.threads &&
         mapping.parts * 2 * mapping.slices <= mostCounts)
    mapping.parts *= 2;
  return mapping;
}

/// Estimates the instructions of blocks; see costOfThreads for threads that
/// each scan all indices.
static double costOfBlocks(const GatherSizes &sizes,
                           const ScatterMapping &mapping) {
  double rows = double(sizes.batch * sizes.outer);
  double rounds = double(llvm::divideCeil(sizes.count, mapping.atOnce()));
  double blocks = rows * double(mapping.groups * mapping.strips) *
                  (double(mapping.threads) * (200 + 100 * rounds) +
                   12.0 * double(sizes.count));
  return blocks + rows * double(sizes.count) * 25;
}

static double costOfThreads(const GatherSizes &sizes,
                            const ScatterMapping &mapping) {
  return double(sizes.batch * sizes.outer * sizes.extent * sizes.inner /
                mapping.vector) *
         double(sizes.count) * 8;
}

std::optional<ScatterMapping> gradus::mapScatter(const GatherSizes &sizes,
                                                 Type element,
                                                 const GpuModel &gpu) {
  ScatterMapping mapping = blocksOf(sizes, element, gpu);
  if (sizes.count <= kFew || sizes.count >= int64_t(1) << 30 ||
      costOfThreads(sizes, mapping) <= costOfBlocks(sizes, mapping))
    return std::nullopt;
  return mapping;
}

uint64_t gradus::scatterOperations(const GatherSizes &sizes, Type element,
                                   const GpuModel &gpu) {
  ScatterMapping mapping = blocksOf(sizes, element, gpu);
  if (!mapScatter(sizes, element, gpu))
    return uint64_t(costOfThreads(sizes, mapping));
  int64_t rows = sizes.batch * sizes.outer;
  int64_t ofElements = rows * (sizes.extent + 2 * sizes.count) * sizes.inner;
  return uint64_t(costOfBlocks(sizes, mapping)) + uint64_t(ofElements);
}

//===-- code --------------------------------------------------------------===//

namespace {

/// Adds to the running totals of a vector of a slice.
using Summing = function_ref<Values(Values totals)>;

class ScatterEmitter {
public:
  ScatterEmitter(GpuBuilder &b, const ScatterMapping &mapping,
                 const IndexedBuffers &buffers, const GpuThread &thread)
      : b(b), mapping(mapping), sizes(buffers.sizes), buffers(buffers),
        thread(thread.inBlock) {}

  void addMemory(gpu::GPUFuncOp function);
  void emit(Value item);

private:
  /// An index of the list, and its slice within the block.
  struct Hit {
    Value isOwn, position, slice;
  };
  /// Sums of a number over the threads before this one, and over all.
  struct Sums {
    Value before, all;
  };
  /// The list of rows to add.
  struct List {
    Value count;
    Value isAdded; // to sums already written; null: no
  };

  Values loadIndices(Value first);
  SmallVector<Hit> findHits(Value first);
  Hit hitOf(IndexedPlace place, Value position);
  Sums sumOverThreads(Value own);
  Value collect(Value first, Value held);
  void walk(Value count, function_ref<void(Value hit, Value at)> visit);
  void sumCounts();
  void sort(Value count);
  std::pair<Value, Value> hitsOf(Value slice);
  void sumUp(const List &list);
  void sumSlice(const List &list, Value slice, Value column, Summing sum);
  Value columnOf(Value vector);
  void sumInTurn(const List &list);
  void sumTogether(const List &list);
  Values sumList(Value first, Value end, Value column, Values totals);

  Type totalType();
  Value asWord(Value position);
  Value asPosition(Value word);
  Value load(const GpuBuffer &memory, Value at);
  void store(const GpuBuffer &memory, Value at, Value position);

  GpuBuilder &b;
  const ScatterMapping &mapping;
  const GatherSizes &sizes;
  const IndexedBuffers &buffers;
  Value thread, row, group, strip;
  GpuBuffer positions, slices; // of hits, in index order
  GpuBuffer sorted;            // by slice
  GpuBuffer counts;            // of slice s in part p: s * parts + p
  GpuBuffer warps, partials;
};

} // namespace

//===-- shared memory -----------------------------------------------------===//

void ScatterEmitter::addMemory(gpu::GPUFuncOp function) {
  auto add = [&](unsigned bits, int64_t count) -> GpuBuffer {
    return {addShared(b, function, b.getIntegerType(bits), count), {}};
  };
  int64_t most =
      sizes.count <= mapping.atOnce() ? mapping.atOnce() : mapping.mostListed();
  positions = add(32, most);
  slices = add(8, most);
  sorted = add(32, most);
  counts = add(16, mapping.slices * mapping.parts);
  warps = add(32, mapping.threads / kWarp);
  if (mapping.lanes > 1)
    partials = {
        addShared(b, function, totalType(), mapping.threads * mapping.vector),
        {}};
}

/// Returns the type of partial sums.
Type ScatterEmitter::totalType() {
  Type type = gpuValueType(buffers.element);
  return isNarrowGpuFloat(type) ? b.getF32Type() : gpuMemoryType(type);
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

/// Loads the indices from `first` on; beyond the last, it repeats others.
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
  // Outside of the table the position is arbitrary, and sums could overflow.
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

/// A butterfly sum within each warp, in groups of growing size; then over the
/// warps.
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
  for (int64_t w = 0; w < mapping.threads / kWarp; ++w) {
    Value part = load(warps, b.number(w));
    before =
        b.add(before, b.createOrFold<arith::SelectOp>(
                          b.isBelow(b.number(w), warp), part, b.number(0)));
    total = b.add(total, part);
  }
  return {before, total};
}

/// Appends the hits to the list; returns its new length.
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

/// Visits the hits of the thread's part in order, each with the index of its
/// count.
void ScatterEmitter::walk(Value count,
                          function_ref<void(Value hit, Value at)> visit) {
  Value length =
      b.quotient(b.add(count, b.number(mapping.parts - 1)), mapping.parts);
  Value first = arith::MulIOp::create(b, thread, length);
  Value end = b.createOrFold<arith::MinSIOp>(b.add(first, length), count);
  if (mapping.parts < mapping.threads)
    end = b.createOrFold<arith::SelectOp>(
        b.isBelow(thread, b.number(mapping.parts)), end, b.number(0));
  b.loop(first, end, b.number(1), [&](Value hit) {
    visit(hit, b.add(b.mul(load(slices, hit), mapping.parts), thread));
  });
  gpu::BarrierOp::create(b);
}

/// Replaces each count by the sum of those before it.
void ScatterEmitter::sumCounts() {
  int64_t all = mapping.slices * mapping.parts,
          each = llvm::divideCeil(all, mapping.threads);
  Value first = b.mul(thread, each);
  Value end = b.createOrFold<arith::MinSIOp>(b.add(first, b.number(each)),
                                             b.number(all));
  Values own = b.loop(first, end, b.number(1), {b.number(0)},
                      [&](Value at, ValueRange sum) -> Values {
                        return {b.add(sum[0], load(counts, at))};
                      });
  b.loop(first, end, b.number(1), {sumOverThreads(own[0]).before},
         [&](Value at, ValueRange sum) -> Values {
           Value next = b.add(sum[0], load(counts, at));
           store(counts, at, sum[0]);
           return {next};
         });
  gpu::BarrierOp::create(b);
}

/// Sorts the list; each count ends as the start of the next one's hits.
void ScatterEmitter::sort(Value count) {
  b.loop(thread, b.number(mapping.slices * mapping.parts),
         b.number(mapping.threads),
         [&](Value at) { store(counts, at, b.number(0)); });
  gpu::BarrierOp::create(b);
  walk(count, [&](Value, Value at) {
    store(counts, at, b.add(load(counts, at), b.number(1)));
  });
  sumCounts();
  walk(count, [&](Value hit, Value at) {
    Value to = load(counts, at);
    store(sorted, to, load(positions, hit));
    store(counts, at, b.add(to, b.number(1)));
  });
}

/// The range of the hits of a slice.
std::pair<Value, Value> ScatterEmitter::hitsOf(Value slice) {
  Value at = b.mul(slice, mapping.parts);
  Value before =
      b.createOrFold<arith::MaxSIOp>(b.add(at, b.number(-1)), b.number(0));
  Value isFirst = b.createOrFold<arith::CmpIOp>(Is::eq, slice, b.number(0));
  Value first = b.createOrFold<arith::SelectOp>(isFirst, b.number(0),
                                                load(counts, before));
  return {first, load(counts, b.add(at, b.number(mapping.parts - 1)))};
}

//===-- sums --------------------------------------------------------------===//

/// Adds the column's part of each slice in the list, in order; several slices
/// are loaded ahead.
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

/// Computes a vector of a slice; if it was written before, only if there is
/// something to add.
void ScatterEmitter::sumSlice(const List &list, Value slice, Value column,
                              Summing sum) {
  Value at = mapping.isInterleaved ? b.add(b.mul(slice, mapping.groups), group)
                                   : b.add(b.mul(group, mapping.slices), slice);
  Value isWanted = b.isBelow(at, b.number(sizes.extent));
  if (list.isAdded) {
    auto [first, end] = hitsOf(slice);
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
    storeIndexed(b, buffers.out, buffers.element, place,
                 narrowIndexed(b, buffers.element, sum(totals)));
  });
}

/// The first element, within its slice, of a vector of the block's strip.
Value ScatterEmitter::columnOf(Value vector) {
  return b.mul(b.add(b.mul(strip, mapping.columns), vector), mapping.vector);
}

/// Computes each vector in a thread of its own.
void ScatterEmitter::sumInTurn(const List &list) {
  b.loop(thread, b.number(mapping.slices * mapping.columns),
         b.number(mapping.threads), [&](Value point) {
           Value slice = b.quotient(point, mapping.columns);
           Value column = columnOf(b.createOrFold<arith::SubIOp>(
               point, b.mul(slice, mapping.columns)));
           sumSlice(list, slice, column, [&](Values totals) {
             auto [first, end] = hitsOf(slice);
             return sumList(first, end, column, totals);
           });
         });
}

/// Lets the lanes of a vector each sum a part of its list; the first lane adds
/// these sums in order.
void ScatterEmitter::sumTogether(const List &list) {
  int64_t points = mapping.slices * mapping.columns;
  Value point = b.remainder(thread, points), lane = b.quotient(thread, points);
  Value slice = b.quotient(point, mapping.columns),
        column = columnOf(b.remainder(point, mapping.columns));
  auto [begin, end] = hitsOf(slice);
  Value count = b.createOrFold<arith::SubIOp>(end, begin);
  Value length =
      b.quotient(b.add(count, b.number(mapping.lanes - 1)), mapping.lanes);
  // Threads beyond the last lane have no part.
  Value first = b.createOrFold<arith::MinSIOp>(
      b.add(begin, arith::MulIOp::create(b, lane, length)), end);
  Value last = b.createOrFold<arith::MinSIOp>(b.add(first, length), end);
  Values own = sumList(first, last, column,
                       indexedZeros(b, buffers.element, mapping.vector));
  auto placeOf = [&](Value of, int64_t k) {
    return b.add(of, b.number(k * mapping.threads));
  };
  for (auto [k, value] : llvm::enumerate(own))
    storeGpuElement(b, partials, totalType(), placeOf(thread, int64_t(k)),
                    value);
  gpu::BarrierOp::create(b);
  b.when(b.isBelow(thread, b.number(points)), [&] {
    sumSlice(list, slice, column, [&](Values totals) {
      for (int64_t n = 0; n < mapping.lanes; ++n) {
        Values part;
        for (int64_t k = 0; k < mapping.vector; ++k)
          part.push_back(
              loadGpuElement(b, partials, totalType(),
                             placeOf(b.add(thread, b.number(n * points)), k)));
        totals = addIndexed(b, totals, part);
      }
      return totals;
    });
  });
}

void ScatterEmitter::sumUp(const List &list) {
  sort(list.count);
  if (mapping.lanes > 1)
    sumTogether(list);
  else
    sumInTurn(list);
  gpu::BarrierOp::create(b); // the next list reuses this memory
}

/// Sums up the list when the next indices might not fit.
void ScatterEmitter::emit(Value item) {
  strip = b.remainder(item, mapping.strips);
  item = b.quotient(item, mapping.strips);
  row = b.quotient(item, mapping.groups);
  group = b.remainder(item, mapping.groups);
  int64_t atOnce = mapping.atOnce();
  if (sizes.count <= atOnce)
    return sumUp({collect(b.number(0), b.number(0)), {}});
  Value no = arith::ConstantOp::create(b, b.getBoolAttr(false));
  b.loop(b.number(0), b.number(sizes.count), b.number(atOnce),
         {b.number(0), no}, [&](Value first, ValueRange state) -> Values {
           Value held = collect(first, state[0]);
           Value isLast = b.createOrFold<arith::CmpIOp>(
               Is::sge, first, b.number(sizes.count - atOnce));
           Value isFull =
               b.isBelow(b.number(mapping.mostListed() - atOnce), held);
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
