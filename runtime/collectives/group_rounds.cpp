// Parts of groups, pairs of groups, halves and the way back.

#include "runtime/collectives/group_rounds.h"

#include <algorithm>
#include <bit>
#include <map>

namespace gradus::runtime {

namespace {

/// The memory for pieces that travel, of all exchanges of a round.
constexpr uint64_t kPiecesBytes = uint64_t{1} << 20;
/// The least bytes of a piece, however many exchanges a round has.
constexpr uint64_t kLeastBytes = 64;

Range halfOf(Range range, int which) {
  uint64_t middle = range.begin + range.count() / 2;
  return which == 0 ? Range{range.begin, middle} : Range{middle, range.end};
}

} // namespace

StatusOr<int> ranksOfHosts(std::span<const std::string> hosts) {
  auto refusal = [](const auto &...found) {
    return invalid("adasum.within is \"host\", and ", found...,
                   "; start as many ranks on each host, one host after the "
                   "other");
  };
  std::map<std::string_view, size_t> firsts; // of each host
  size_t first = 0, ofFirst = 0;             // ranks
  for (size_t rank = 0; rank <= hosts.size(); ++rank) {
    if (rank < hosts.size() && hosts[rank] == hosts[first])
      continue;
    size_t count = rank - first;
    auto [earlier, isNew] = firsts.emplace(hosts[first], first);
    if (!isNew)
      return refusal("ranks ", earlier->second, " and ", first,
                     " run on the host ", hosts[first], ", but rank ",
                     first - 1, " between them on ", hosts[first - 1]);
    ofFirst = first == 0 ? count : ofFirst;
    if (count != ofFirst)
      return refusal("the host ", hosts[0], " has ", ofFirst,
                     ofFirst == 1 ? " rank, but " : " ranks, but ",
                     hosts[first], " has ", count);
    first = rank;
  }
  return static_cast<int>(ofFirst);
}

/// Adds the rounds of one rank.
struct GroupRounds::Filler {
  GroupRounds &to;
  const Collective &collective;
  int within, groups, rank;
  int group = rank / within, local = rank % within;

  const std::vector<Member> &members() const {
    return collective.groups->members;
  }
  bool combines() const { return collective.groups->across != Across::nothing; }

  /// The number of a new list.
  template <typename OfTensor> size_t list(const OfTensor &rangeOf) const {
    size_t tensors = members().size(), number = to.ranges_.size();
    for (size_t tensor = 0; tensor < tensors; ++tensor)
      to.ranges_.push_back(rangeOf(tensor));
    return number;
  }
  size_t part(int of) const {
    uint64_t unit = collective.groups->unit ? collective.groups->unit
                                            : 64 / bytesOf(collective.type);
    return list([&](size_t tensor) {
      return partInUnits(members()[tensor].count, unit, within, of);
    });
  }
  size_t half(size_t kept, int which) const {
    return list([&](size_t tensor) {
      return halfOf(to.ranges_[kept + tensor], which);
    });
  }

  void begin(GroupRound::Kind kind) const {
    size_t at = to.entries_.size();
    to.rounds_.push_back({kind, at, at});
  }
  void add(int peer, size_t send, size_t receive) const {
    to.entries_.push_back({peer, send, receive});
    to.rounds_.back().last = to.entries_.size();
  }

  int rankOf(int ofGroup) const { return ofGroup * within + local; }

  /// Adds the own part of what the ranks of the group have.
  void addParts(size_t own) const {
    begin(GroupRound::sum);
    for (int peer = 0; peer < within; ++peer)
      if (peer != local)
        add(group * within + peer, part(peer), own);
  }
  void gatherParts(size_t own) const {
    begin(GroupRound::place);
    for (int peer = 0; peer < within; ++peer)
      if (peer != local)
        add(group * within + peer, own, part(peer));
  }

  /// Sums the products of the ranks of the own group.
  void addProductsInGroup() const {
    if (within == 1)
      return;
    begin(GroupRound::products);
    for (int peer = 0; peer < within; ++peer)
      if (peer != local)
        add(group * within + peer, kNone, kNone);
  }
  void addProductsOf(int peerGroup) const {
    begin(GroupRound::products);
    add(rankOf(peerGroup), kNone, kNone);
  }

  /// Exchanges halves; returns the one that the rank goes on with.
  size_t halve(int peerGroup, size_t kept) const {
    int which = group > peerGroup ? 1 : 0;
    size_t own = half(kept, which), other = half(kept, 1 - which);
    begin(GroupRound::halve);
    add(rankOf(peerGroup), other, own);
    return own;
  }

  void place(int peerGroup, size_t send, size_t receive) const {
    begin(GroupRound::place);
    add(rankOf(peerGroup), send, receive);
  }

  /// Combines groups that are a power of two: this one is the `position`-th of
  /// them, and groupAt() tells the others.
  template <typename GroupAt>
  void combinePower(int power, int position, size_t kept,
                    const GroupAt &groupAt) const {
    std::vector<std::pair<size_t, size_t>> halves; // kept, and the other
    for (int bit = 1; bit < power; bit <<= 1) {
      int peer = groupAt(position ^ bit);
      size_t own = halve(peer, kept);
      halves.emplace_back(own, own + members().size());
      addProductsInGroup();
      for (int other = 1; other <= bit; other <<= 1)
        addProductsOf(groupAt(position ^ other));
      begin(GroupRound::combine);
      kept = own;
    }
    for (int bit = power >> 1; bit > 0; bit >>= 1) {
      auto [own, other] = halves.back();
      halves.pop_back();
      place(groupAt(position ^ bit), own, other);
    }
  }

  void combineGroups(size_t own) const {
    int power = static_cast<int>(std::bit_floor(unsigned(groups)));
    int pairs = groups - power;
    auto groupAt = [&](int position) {
      return position < pairs ? 2 * position : position + pairs;
    };
    bool isPaired = group < 2 * pairs;
    bool isUpper = isPaired && group % 2 == 1;
    int other = group ^ 1;
    if (isPaired) {
      size_t kept = halve(other, own);
      addProductsInGroup();
      addProductsOf(other);
      begin(GroupRound::combine);
      if (isUpper)
        place(other, kept, kNone);
      else
        place(other, kNone, kept + members().size());
    }
    if (!isUpper)
      combinePower(power, isPaired ? group / 2 : group - pairs, own, groupAt);
    if (isUpper)
      place(other, kNone, own);
    else if (isPaired)
      place(other, own, kNone);
  }

  void fill() const {
    size_t own = part(local);
    Parts parts = collective.groups->parts;
    if (within > 1 && parts != Parts::gather)
      addParts(own);
    if (combines() && groups > 1)
      combineGroups(own);
    if (within > 1 && parts != Parts::reduce)
      gatherParts(own);
  }
};

void GroupRounds::set(const Collective &collective, int within, int ranks,
                      int rank) {
  rounds_.clear();
  entries_.clear();
  ranges_.clear();
  tensors_ = collective.groups->members.size();
  if (ranks > 1)
    Filler{*this, collective, within, ranks / within, rank}.fill();
}

std::span<const Range> GroupRounds::list(size_t number) const {
  return number == kNone ? std::span<const Range>()
                         : std::span(ranges_).subspan(number, tensors_);
}

GroupExchange GroupRounds::exchange(size_t index) const {
  const Entry &entry = entries_[index];
  return {entry.peer, list(entry.send), list(entry.receive)};
}

Range Slice::of(const Range &range) const {
  return {std::min(range.end, range.begin + begin),
          std::min(range.end, range.begin + end)};
}

uint64_t elementsOf(std::span<const Slice> slices,
                    std::span<const Range> ranges) {
  uint64_t elements = 0;
  if (!ranges.empty())
    for (const Slice &slice : slices)
      elements += slice.of(ranges[slice.tensor]).count();
  return elements;
}

void GroupPieces::set(const GroupRounds &rounds, const GroupRound &round,
                      size_t tensors, uint64_t width) {
  slices_.clear();
  ends_.clear();
  // Two pieces of each exchange, in both directions.
  bytes_ =
      std::max(kLeastBytes, kPiecesBytes / (4 * (round.last - round.first)) /
                                kLeastBytes * kLeastBytes);
  uint64_t most = bytes_ / width, left = most;
  for (size_t tensor = 0; tensor < tensors; ++tensor) {
    uint64_t longest = 0;
    for (size_t i = round.first; i < round.last; ++i)
      for (std::span<const Range> ranges :
           {rounds.exchange(i).send, rounds.exchange(i).receive})
        if (!ranges.empty())
          longest = std::max(longest, ranges[tensor].count());
    for (uint64_t begin = 0; begin < longest;) {
      uint64_t end = std::min(longest, begin + left);
      slices_.push_back({tensor, begin, end});
      left -= end - begin;
      begin = end;
      if (left > 0)
        continue;
      ends_.push_back(slices_.size());
      left = most;
    }
  }
  if (left < most)
    ends_.push_back(slices_.size());
}

std::span<const Slice> GroupPieces::slices(size_t piece) const {
  size_t begin = piece == 0 ? 0 : ends_[piece - 1];
  return std::span(slices_).subspan(begin, ends_[piece] - begin);
}

uint64_t bytesSentInGroups(const Collective &collective, int ranks, int rank) {
  GroupRounds rounds;
  rounds.set(collective, knownWithin(*collective.groups, ranks), ranks, rank);
  uint64_t bytes = 0;
  for (const GroupRound &round : rounds.rounds())
    for (size_t i = round.first; i < round.last; ++i) {
      if (round.kind == GroupRound::products)
        bytes += GroupRounds::productsOf(*collective.groups) * sizeof(double);
      for (const Range &range : rounds.exchange(i).send)
        bytes += range.count() * bytesOf(collective.type);
    }
  return bytes;
}

} // namespace gradus::runtime
