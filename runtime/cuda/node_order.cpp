// Visits the nodes in order, and keeps the last writer of each range of bytes
// and its readers since then.

#include "runtime/cuda/node_order.h"

#include <algorithm>
#include <map>
#include <set>

namespace gradus::runtime::cuda {

namespace {

constexpr uint32_t kNobody = UINT32_MAX;

/// The accesses to a range of bytes.
struct Stretch {
  uint64_t end;
  uint32_t writer = kNobody;
  std::vector<uint32_t> readers; // since then
};

class Bytes {
public:
  /// Adds the nodes that an access of `node` depends on to `before`.
  void touch(uint32_t node, const Access &access, std::set<uint32_t> &before) {
    if (access.bytes == 0)
      return;
    cutAt(access.start);
    cutAt(access.end());
    fillGaps(access);
    for (auto at = stretches_.find(access.start);
         at != stretches_.end() && at->first < access.end(); ++at)
      touch(node, access.writes, at->second, before);
  }

private:
  static void touch(uint32_t node, bool writes, Stretch &stretch,
                    std::set<uint32_t> &before) {
    if (stretch.writer != kNobody && stretch.writer != node)
      before.insert(stretch.writer);
    if (!writes) {
      stretch.readers.push_back(node);
      return;
    }
    for (uint32_t reader : stretch.readers)
      if (reader != node)
        before.insert(reader);
    stretch.readers.clear();
    stretch.writer = node;
  }

  /// Splits a range at `address`.
  void cutAt(uint64_t address) {
    auto after = stretches_.upper_bound(address);
    if (after == stretches_.begin())
      return;
    auto &[start, stretch] = *std::prev(after);
    if (start == address || stretch.end <= address)
      return;
    Stretch rest = stretch;
    stretch.end = address;
    stretches_.emplace(address, std::move(rest));
  }

  void fillGaps(const Access &access) {
    uint64_t at = access.start;
    auto next = stretches_.lower_bound(at);
    while (at < access.end()) {
      uint64_t end = next == stretches_.end()
                         ? access.end()
                         : std::min(access.end(), next->first);
      if (at < end)
        stretches_.emplace(at, Stretch{end, kNobody, {}});
      if (next == stretches_.end())
        return;
      at = next->second.end;
      ++next;
    }
  }

  std::map<uint64_t, Stretch> stretches_; // by start
};

/// The nodes before each node, by any path.
class Ancestors {
public:
  explicit Ancestors(size_t nodes) : sets_(nodes, Set((nodes + 63) / 64)) {}

  bool has(uint32_t node, uint32_t ancestor) const {
    return sets_[node][ancestor / 64] >> (ancestor % 64) & 1;
  }
  void add(uint32_t node, uint32_t before) {
    for (size_t i = 0; i < sets_[node].size(); ++i)
      sets_[node][i] |= sets_[before][i];
    sets_[node][before / 64] |= uint64_t(1) << (before % 64);
  }

private:
  using Set = std::vector<uint64_t>;
  std::vector<Set> sets_;
};

} // namespace

Edges chainOf(size_t nodes) {
  Edges edges(nodes);
  for (size_t i = 1; i < nodes; ++i)
    edges[i] = {uint32_t(i - 1)};
  return edges;
}

Edges orderByBytes(std::span<const std::vector<Access>> accesses) {
  Edges edges(accesses.size());
  Ancestors ancestors(accesses.size());
  Bytes bytes;
  for (uint32_t node = 0; node < accesses.size(); ++node) {
    std::set<uint32_t> before;
    // Reads come first, since a write clears the list of readers.
    for (bool writes : {false, true})
      for (const Access &access : accesses[node])
        if (access.writes == writes)
          bytes.touch(node, access, before);
    // Latest first: nodes before one of those need no edge.
    for (auto each = before.rbegin(); each != before.rend(); ++each) {
      if (ancestors.has(node, *each))
        continue;
      ancestors.add(node, *each);
      edges[node].push_back(*each);
    }
    std::sort(edges[node].begin(), edges[node].end());
  }
  return edges;
}

} // namespace gradus::runtime::cuda
