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
      : b_(b), mapping_(mapping), sizes_(buffers.sizes), buffers_(buffers),
        thread_(thread.inBlock) {}

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

  GpuBuilder &b_;
  const ScatterMapping &mapping_;
  const GatherSizes &sizes_;
  const IndexedBuffers &buffers_;
  Value thread_, row_, group_, strip_;
  GpuBuffer positions_, slices_; // of hits, in index order
  GpuBuffer sorted_;             // by slice
  GpuBuffer counts_;             // of slice s in part p: s * parts + p
  GpuBuffer warps_, partials_;
};

} // namespace

//===-- shared memory -----------------------------------------------------===//

void ScatterEmitter::addMemory(gpu::GPUFuncOp function) {
  auto add = [&](unsigned bits, int64_t count) -> GpuBuffer {
    return {addShared(b_, function, b_.getIntegerType(bits), count), {}};
  };
  int64_t most = sizes_.count <= mapping_.atOnce() ? mapping_.atOnce()
                                                   : mapping_.mostListed();
  positions_ = add(32, most);
  slices_ = add(8, most);
  sorted_ = add(32, most);
  counts_ = add(16, mapping_.slices * mapping_.parts);
  warps_ = add(32, mapping_.threads / kWarp);
  if (mapping_.lanes > 1)
    partials_ = {addShared(b_, function, totalType(),
                           mapping_.threads * mapping_.vector),
                 {}};
}

/// Returns the type of partial sums.
Type ScatterEmitter::totalType() {
  Type type = gpuValueType(buffers_.element);
  return isNarrowGpuFloat(type) ? b_.getF32Type() : gpuMemoryType(type);
}

Value ScatterEmitter::asWord(Value position) {
  return position.getType().isInteger(32)
             ? position
             : b_.createOrFold<arith::IndexCastOp>(b_.getI32Type(), position);
}

Value ScatterEmitter::asPosition(Value word) {
  return b_.position(
      b_.createOrFold<arith::IndexCastOp>(b_.getIndexType(), word));
}

Value ScatterEmitter::load(const GpuBuffer &memory, Value at) {
  Type type = cast<MemRefType>(memory.memory.getType()).getElementType();
  Value value = loadGpuElement(b_, memory, type, at);
  if (!type.isInteger(32))
    value = b_.createOrFold<arith::ExtUIOp>(b_.getI32Type(), value);
  return asPosition(value);
}

void ScatterEmitter::store(const GpuBuffer &memory, Value at, Value position) {
  Type type = cast<MemRefType>(memory.memory.getType()).getElementType();
  Value value = asWord(position);
  if (!type.isInteger(32))
    value = b_.createOrFold<arith::TruncIOp>(type, value);
  storeGpuElement(b_, memory, type, at, value);
}

//===-- the list ----------------------------------------------------------===//

/// Loads the indices from `first` on; beyond the last, it repeats others.
Values ScatterEmitter::loadIndices(Value first) {
  Values indices;
  bool isWhole = sizes_.count % kEach == 0;
  int64_t vector =
      isWhole ? kVectorBytes / (buffers_.index.getIntOrFloatBitWidth() / 8) : 1;
  Value begin = b_.mul(b_.quotient(row_, sizes_.outer), sizes_.count);
  for (int64_t n = 0; n < kEach; n += vector) {
    Value at = b_.createOrFold<arith::MinSIOp>(
        b_.add(first, b_.number(n)),
        b_.number(sizes_.count - (isWhole ? kEach - n : 1)));
    llvm::append_range(indices,
                       loadIndexed(b_, buffers_.indices, buffers_.index,
                                   b_.add(begin, at), vector));
  }
  return indices;
}

ScatterEmitter::Hit ScatterEmitter::hitOf(IndexedPlace place, Value position) {
  // Outside of the table the position is arbitrary, and sums could overflow.
  place.position =
      arith::SelectOp::create(b_, place.isInside, place.position, b_.number(0));
  Value isThere = b_.isBelow(position, b_.number(sizes_.count)), isOwn, slice;
  if (mapping_.isInterleaved) {
    slice = b_.quotient(place.position, mapping_.groups);
    isOwn = b_.createOrFold<arith::CmpIOp>(
        Is::eq, place.position, b_.add(b_.mul(slice, mapping_.groups), group_));
  } else {
    slice = b_.createOrFold<arith::SubIOp>(place.position,
                                           b_.mul(group_, mapping_.slices));
    isOwn = b_.createOrFold<arith::CmpIOp>(Is::ult, slice,
                                           b_.number(mapping_.slices));
  }
  Value isValid = b_.createOrFold<arith::AndIOp>(isThere, place.isInside);
  return {b_.createOrFold<arith::AndIOp>(isValid, isOwn), position, slice};
}

SmallVector<ScatterEmitter::Hit> ScatterEmitter::findHits(Value first) {
  SmallVector<Hit> hits;
  for (auto [n, index] : llvm::enumerate(loadIndices(first)))
    hits.push_back(hitOf(indexedPlace(b_, sizes_, index),
                         b_.add(first, b_.number(int64_t(n)))));
  return hits;
}

/// A butterfly sum within each warp, in groups of growing size; then over the
/// warps.
ScatterEmitter::Sums ScatterEmitter::sumOverThreads(Value own) {
  Value before = b_.number(0), all = own, lane = b_.remainder(thread_, kWarp),
        warp = b_.quotient(thread_, kWarp);
  for (unsigned mask = 1; mask < kWarp; mask *= 2) {
    Value others =
        asPosition(gpu::ShuffleOp::create(b_, asWord(all), mask, kWarp,
                                          gpu::ShuffleMode::XOR)
                       .getShuffleResult());
    Value isUpper = b_.createOrFold<arith::CmpIOp>(
        Is::ne, b_.remainder(b_.quotient(lane, mask), 2), b_.number(0));
    before = b_.add(before, b_.createOrFold<arith::SelectOp>(isUpper, others,
                                                             b_.number(0)));
    all = b_.add(all, others);
  }
  Value isFirst = b_.createOrFold<arith::CmpIOp>(Is::eq, lane, b_.number(0));
  b_.when(isFirst, [&] { store(warps_, warp, all); });
  gpu::BarrierOp::create(b_);
  Value total = b_.number(0);
  for (int64_t w = 0; w < mapping_.threads / kWarp; ++w) {
    Value part = load(warps_, b_.number(w));
    before =
        b_.add(before, b_.createOrFold<arith::SelectOp>(
                           b_.isBelow(b_.number(w), warp), part, b_.number(0)));
    total = b_.add(total, part);
  }
  return {before, total};
}

/// Appends the hits to the list; returns its new length.
Value ScatterEmitter::collect(Value first, Value held) {
  SmallVector<Hit> hits = findHits(b_.add(first, b_.mul(thread_, kEach)));
  auto one = [&](const Hit &hit) {
    return b_.createOrFold<arith::SelectOp>(hit.isOwn, b_.number(1),
                                            b_.number(0));
  };
  Value own = b_.number(0);
  for (const Hit &hit : hits)
    own = b_.add(own, one(hit));
  Sums sums = sumOverThreads(own);
  Value at = b_.add(held, sums.before);
  for (const Hit &hit : hits) {
    b_.when(hit.isOwn, [&] {
      store(positions_, at, hit.position);
      store(slices_, at, hit.slice);
    });
    at = b_.add(at, one(hit));
  }
  gpu::BarrierOp::create(b_);
  return b_.add(held, sums.all);
}

/// Visits the hits of the thread's part in order, each with the index of its
/// count.
void ScatterEmitter::walk(Value count,
                          function_ref<void(Value hit, Value at)> visit) {
  Value length =
      b_.quotient(b_.add(count, b_.number(mapping_.parts - 1)), mapping_.parts);
  Value first = arith::MulIOp::create(b_, thread_, length);
  Value end = b_.createOrFold<arith::MinSIOp>(b_.add(first, length), count);
  if (mapping_.parts < mapping_.threads)
    end = b_.createOrFold<arith::SelectOp>(
        b_.isBelow(thread_, b_.number(mapping_.parts)), end, b_.number(0));
  b_.loop(first, end, b_.number(1), [&](Value hit) {
    visit(hit, b_.add(b_.mul(load(slices_, hit), mapping_.parts), thread_));
  });
  gpu::BarrierOp::create(b_);
}

/// Replaces each count by the sum of those before it.
void ScatterEmitter::sumCounts() {
  int64_t all = mapping_.slices * mapping_.parts,
          each = llvm::divideCeil(all, mapping_.threads);
  Value first = b_.mul(thread_, each);
  Value end = b_.createOrFold<arith::MinSIOp>(b_.add(first, b_.number(each)),
                                              b_.number(all));
  Values own = b_.loop(first, end, b_.number(1), {b_.number(0)},
                       [&](Value at, ValueRange sum) -> Values {
                         return {b_.add(sum[0], load(counts_, at))};
                       });
  b_.loop(first, end, b_.number(1), {sumOverThreads(own[0]).before},
          [&](Value at, ValueRange sum) -> Values {
            Value next = b_.add(sum[0], load(counts_, at));
            store(counts_, at, sum[0]);
            return {next};
          });
  gpu::BarrierOp::create(b_);
}

/// Sorts the list; each count ends as the start of the next one's hits.
void ScatterEmitter::sort(Value count) {
  b_.loop(thread_, b_.number(mapping_.slices * mapping_.parts),
          b_.number(mapping_.threads),
          [&](Value at) { store(counts_, at, b_.number(0)); });
  gpu::BarrierOp::create(b_);
  walk(count, [&](Value, Value at) {
    store(counts_, at, b_.add(load(counts_, at), b_.number(1)));
  });
  sumCounts();
  walk(count, [&](Value hit, Value at) {
    Value to = load(counts_, at);
    store(sorted_, to, load(positions_, hit));
    store(counts_, at, b_.add(to, b_.number(1)));
  });
}

/// The range of the hits of a slice.
std::pair<Value, Value> ScatterEmitter::hitsOf(Value slice) {
  Value at = b_.mul(slice, mapping_.parts);
  Value before =
      b_.createOrFold<arith::MaxSIOp>(b_.add(at, b_.number(-1)), b_.number(0));
  Value isFirst = b_.createOrFold<arith::CmpIOp>(Is::eq, slice, b_.number(0));
  Value first = b_.createOrFold<arith::SelectOp>(isFirst, b_.number(0),
                                                 load(counts_, before));
  return {first, load(counts_, b_.add(at, b_.number(mapping_.parts - 1)))};
}

//===-- sums --------------------------------------------------------------===//

/// Adds the column's part of each slice in the list, in order; several slices
/// are loaded ahead.
Values ScatterEmitter::sumList(Value first, Value end, Value column,
                               Values totals) {
  auto loadAt = [&](Value n) {
    Value slice = b_.add(b_.mul(row_, sizes_.count), load(sorted_, n));
    return loadIndexed(b_, buffers_.source, buffers_.element,
                       b_.add(b_.mul(slice, sizes_.inner), column),
                       mapping_.vector);
  };
  totals = b_.loop(first, b_.add(end, b_.number(1 - kAhead)), b_.number(kAhead),
                   totals, [&](Value n, ValueRange all) -> Values {
                     SmallVector<Values> ahead;
                     for (int64_t k = 0; k < kAhead; ++k)
                       ahead.push_back(loadAt(b_.add(n, b_.number(k))));
                     Values sums(all);
                     for (const Values &values : ahead)
                       sums = addIndexed(b_, sums, values);
                     return sums;
                   });
  Value count = b_.createOrFold<arith::SubIOp>(end, first);
  Value rest =
      b_.add(first, b_.createOrFold<arith::AndIOp>(count, b_.number(-kAhead)));
  return b_.loop(rest, end, b_.number(1), totals,
                 [&](Value n, ValueRange all) -> Values {
                   return addIndexed(b_, all, loadAt(n));
                 });
}

/// Computes a vector of a slice; if it was written before, only if there is
/// something to add.
void ScatterEmitter::sumSlice(const List &list, Value slice, Value column,
                              Summing sum) {
  Value at = mapping_.isInterleaved
                 ? b_.add(b_.mul(slice, mapping_.groups), group_)
                 : b_.add(b_.mul(group_, mapping_.slices), slice);
  Value isWanted = b_.isBelow(at, b_.number(sizes_.extent));
  if (list.isAdded) {
    auto [first, end] = hitsOf(slice);
    Value isFresh = b_.createOrFold<arith::CmpIOp>(
        Is::eq, list.isAdded,
        arith::ConstantOp::create(b_, b_.getBoolAttr(false)));
    Value isAny =
        b_.createOrFold<arith::OrIOp>(isFresh, b_.isBelow(first, end));
    isWanted = b_.createOrFold<arith::AndIOp>(isWanted, isAny);
  }
  b_.when(isWanted, [&] {
    Value place = b_.add(b_.mul(row_, sizes_.extent), at);
    place = b_.add(b_.mul(place, sizes_.inner), column);
    Values totals = indexedZeros(b_, buffers_.element, mapping_.vector);
    auto written = [&] {
      return addIndexed(b_, totals,
                        loadIndexed(b_, buffers_.out, buffers_.element, place,
                                    mapping_.vector));
    };
    if (list.isAdded)
      totals = chooseAll(b_, list.isAdded, written, totals);
    storeIndexed(b_, buffers_.out, buffers_.element, place,
                 narrowIndexed(b_, buffers_.element, sum(totals)));
  });
}

/// The first element, within its slice, of a vector of the block's strip.
Value ScatterEmitter::columnOf(Value vector) {
  return b_.mul(b_.add(b_.mul(strip_, mapping_.columns), vector),
                mapping_.vector);
}

/// Computes each vector in a thread of its own.
void ScatterEmitter::sumInTurn(const List &list) {
  b_.loop(thread_, b_.number(mapping_.slices * mapping_.columns),
          b_.number(mapping_.threads), [&](Value point) {
            Value slice = b_.quotient(point, mapping_.columns);
            Value column = columnOf(b_.createOrFold<arith::SubIOp>(
                point, b_.mul(slice, mapping_.columns)));
            sumSlice(list, slice, column, [&](Values totals) {
              auto [first, end] = hitsOf(slice);
              return sumList(first, end, column, totals);
            });
          });
}

/// Lets the lanes of a vector each sum a part of its list; the first lane adds
/// these sums in order.
void ScatterEmitter::sumTogether(const List &list) {
  int64_t points = mapping_.slices * mapping_.columns;
  Value point = b_.remainder(thread_, points),
        lane = b_.quotient(thread_, points);
  Value slice = b_.quotient(point, mapping_.columns),
        column = columnOf(b_.remainder(point, mapping_.columns));
  auto [begin, end] = hitsOf(slice);
  Value count = b_.createOrFold<arith::SubIOp>(end, begin);
  Value length =
      b_.quotient(b_.add(count, b_.number(mapping_.lanes - 1)), mapping_.lanes);
  // Threads beyond the last lane have no part.
  Value first = b_.createOrFold<arith::MinSIOp>(
      b_.add(begin, arith::MulIOp::create(b_, lane, length)), end);
  Value last = b_.createOrFold<arith::MinSIOp>(b_.add(first, length), end);
  Values own = sumList(first, last, column,
                       indexedZeros(b_, buffers_.element, mapping_.vector));
  auto placeOf = [&](Value of, int64_t k) {
    return b_.add(of, b_.number(k * mapping_.threads));
  };
  for (auto [k, value] : llvm::enumerate(own))
    storeGpuElement(b_, partials_, totalType(), placeOf(thread_, int64_t(k)),
                    value);
  gpu::BarrierOp::create(b_);
  b_.when(b_.isBelow(thread_, b_.number(points)), [&] {
    sumSlice(list, slice, column, [&](Values totals) {
      for (int64_t n = 0; n < mapping_.lanes; ++n) {
        Values part;
        for (int64_t k = 0; k < mapping_.vector; ++k)
          part.push_back(loadGpuElement(
              b_, partials_, totalType(),
              placeOf(b_.add(thread_, b_.number(n * points)), k)));
        totals = addIndexed(b_, totals, part);
      }
      return totals;
    });
  });
}

void ScatterEmitter::sumUp(const List &list) {
  sort(list.count);
  if (mapping_.lanes > 1)
    sumTogether(list);
  else
    sumInTurn(list);
  gpu::BarrierOp::create(b_); // the next list reuses this memory
}

/// Sums up the list when the next indices might not fit.
void ScatterEmitter::emit(Value item) {
  strip_ = b_.remainder(item, mapping_.strips);
  item = b_.quotient(item, mapping_.strips);
  row_ = b_.quotient(item, mapping_.groups);
  group_ = b_.remainder(item, mapping_.groups);
  int64_t atOnce = mapping_.atOnce();
  if (sizes_.count <= atOnce)
    return sumUp({collect(b_.number(0), b_.number(0)), {}});
  Value no = arith::ConstantOp::create(b_, b_.getBoolAttr(false));
  b_.loop(b_.number(0), b_.number(sizes_.count), b_.number(atOnce),
          {b_.number(0), no}, [&](Value first, ValueRange state) -> Values {
            Value held = collect(first, state[0]);
            Value isLast = b_.createOrFold<arith::CmpIOp>(
                Is::sge, first, b_.number(sizes_.count - atOnce));
            Value isFull =
                b_.isBelow(b_.number(mapping_.mostListed() - atOnce), held);
            Value isDue = b_.createOrFold<arith::OrIOp>(isLast, isFull);
            b_.when(isDue, [&] { sumUp({held, state[1]}); });
            return {b_.createOrFold<arith::SelectOp>(isDue, b_.number(0), held),
                    b_.createOrFold<arith::OrIOp>(isDue, state[1])};
          });
}

void gradus::emitScatter(GpuBuilder &b, const ScatterMapping &mapping,
                         const IndexedBuffers &buffers, Value item,
                         gpu::GPUFuncOp function, const GpuThread &thread) {
  ScatterEmitter emitter(b, mapping, buffers, thread);
  emitter.addMemory(function);
  emitter.emit(item);
}
