// Packs blocks with lifetimes into one arena. Best fit depends on the order of
// the blocks; orders are tried until the bound is reached.

#include "codegen/memory/offsets.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

using namespace gradus;

int64_t gradus::livenessBound(const std::vector<PlannedBlock> &blocks) {
  int64_t last = 0;
  for (const PlannedBlock &block : blocks)
    last = std::max(last, block.end);
  std::vector<int64_t> change(last + 1, 0);
  for (const PlannedBlock &block : blocks) {
    change[block.begin] += block.size;
    change[block.end] -= block.size;
  }
  int64_t live = 0, bound = 0;
  for (int64_t step : change)
    bound = std::max(bound, live += step);
  return bound;
}

namespace {

using Order = std::vector<size_t>;

/// The placed blocks, sorted by offset.
class Shelf {
public:
  /// Puts a block into the smallest gap that holds it during its lifetime, the
  /// first of equal ones.
  int64_t put(const PlannedBlock &block) {
    int64_t offset = bestGap(block);
    Placed placed{offset, offset + block.size, block.begin, block.end};
    placed_.insert(std::upper_bound(placed_.begin(), placed_.end(), placed),
                   placed);
    return offset;
  }

private:
  struct Placed {
    int64_t bottom, top, begin, end;

    bool operator<(const Placed &other) const {
      return std::tie(bottom, top) < std::tie(other.bottom, other.top);
    }
  };

  int64_t bestGap(const PlannedBlock &block) const {
    int64_t best = -1, bestWaste = 0, top = 0;
    for (const Placed &other : placed_) {
      if (block.begin >= other.end || other.begin >= block.end)
        continue;
      int64_t waste = other.bottom - top - block.size;
      if (waste == 0)
        return top;
      if (waste > 0 && (best < 0 || waste < bestWaste)) {
        best = top;
        bestWaste = waste;
      }
      top = std::max(top, other.top);
    }
    return best < 0 ? top : best;
  }

  std::vector<Placed> placed_;
};

Packing packInOrder(const std::vector<PlannedBlock> &blocks,
                    const Order &order) {
  Packing packing{std::vector<int64_t>(blocks.size(), 0), 0};
  Shelf shelf;
  for (size_t index : order) {
    packing.offsets[index] = shelf.put(blocks[index]);
    packing.size =
        std::max(packing.size, packing.offsets[index] + blocks[index].size);
  }
  return packing;
}

Order sortedBy(const std::vector<PlannedBlock> &blocks,
               const std::function<int64_t(const PlannedBlock &)> &key) {
  Order order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return key(blocks[a]) > key(blocks[b]);
  });
  return order;
}

/// Moves the block that ends highest forward in the order.
void promoteTop(const std::vector<PlannedBlock> &blocks, const Packing &packing,
                Order &order, uint64_t &random) {
  size_t position = 0;
  int64_t top = -1;
  for (size_t i = 0; i < order.size(); ++i)
    if (int64_t end = packing.offsets[order[i]] + blocks[order[i]].size;
        end > top) {
      top = end;
      position = i;
    }
  random = random * 6364136223846793005u + 1442695040888963407u;
  size_t to = position ? (random >> 33) % position : 0;
  std::rotate(order.begin() + to, order.begin() + position,
              order.begin() + position + 1);
}

/// The rounds of search that are worthwhile for this many blocks.
int searchRounds(size_t blocks) {
  return blocks < 2 ? 0 : std::min<size_t>(400, 4000000 / (blocks * blocks));
}

} // namespace

Packing gradus::packBlocks(const std::vector<PlannedBlock> &blocks) {
  const int64_t bound = livenessBound(blocks);
  const std::function<int64_t(const PlannedBlock &)> keys[] = {
      [](const PlannedBlock &b) { return b.size; },
      [](const PlannedBlock &b) { return b.size * (b.end - b.begin); },
      [](const PlannedBlock &b) { return b.end - b.begin; },
      [](const PlannedBlock &b) { return -b.begin; },
      [](const PlannedBlock &b) { return b.end; }};
  Packing best;
  Order bestOrder;
  for (const auto &key : keys) {
    Order order = sortedBy(blocks, key);
    Packing packing = packInOrder(blocks, order);
    if (bestOrder.empty() || packing.size < best.size) {
      best = packing;
      bestOrder = order;
    }
    if (best.size == bound)
      return best;
  }
  uint64_t random = 1;
  Order order = bestOrder;
  Packing packing = best;
  for (int round = 0; round < searchRounds(blocks.size()) && best.size > bound;
       ++round) {
    promoteTop(blocks, packing, order, random);
    packing = packInOrder(blocks, order);
    if (packing.size < best.size) {
      best = packing;
      bestOrder = order;
    }
    if (round % 50 == 49)
      order = bestOrder;
  }
  return best;
}
