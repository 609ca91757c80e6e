// Follows who waits for whom.

#include "runtime/collectives/late_rank.h"

#include <vector>

namespace gradus::runtime {

namespace {

const Whereabouts &of(std::span<const Whereabouts> ranks, int rank) {
  return ranks[static_cast<size_t>(rank)];
}

/// The rank that has been silent for longest of a circle. Ranks never wait in
/// a circle, so one of them does something else by now.
int longestSilent(std::span<const Whereabouts> ranks, int first) {
  int found = first;
  for (int rank = of(ranks, first).waitsFor; rank != first;
       rank = of(ranks, rank).waitsFor)
    if (of(ranks, rank).silence > of(ranks, found).silence)
      found = rank;
  return found;
}

} // namespace

int lateRank(std::span<const Whereabouts> ranks, int waiting,
             std::chrono::steady_clock::duration stale) {
  std::vector<bool> isSeen(ranks.size());
  isSeen[static_cast<size_t>(waiting)] = true;
  for (int rank = of(ranks, waiting).waitsFor;;) {
    const Whereabouts &at = of(ranks, rank);
    if (at.waitsFor < 0 || at.silence > stale ||
        of(ranks, at.waitsFor).number > at.number)
      return rank;
    isSeen[static_cast<size_t>(rank)] = true;
    if (isSeen[static_cast<size_t>(at.waitsFor)])
      return longestSilent(ranks, rank);
    rank = at.waitsFor;
  }
}

} // namespace gradus::runtime
