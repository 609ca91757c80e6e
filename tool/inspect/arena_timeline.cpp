// Sums the ranges of the arena that live buffers cover.

#include "tool/inspect/arena_timeline.h"

#include <algorithm>

namespace gradus::cli {

/// `map` is sorted by offset.
static uint64_t coveredAt(const std::vector<MapEntry> &map, int command) {
  uint64_t covered = 0, end = 0;
  for (const MapEntry &entry : map) {
    if (entry.region != artifact::Region::arena || entry.first > command ||
        entry.last < command)
      continue;
    uint64_t from = std::max(end, entry.offset);
    end = std::max(end, entry.offset + entry.size);
    covered += end - std::min(from, end);
  }
  return covered;
}

ArenaTimeline arenaTimeline(const std::vector<MapEntry> &map, int commands) {
  ArenaTimeline timeline;
  for (int command = 0; command < commands; ++command) {
    timeline.live.push_back(coveredAt(map, command));
    if (timeline.live.back() <= timeline.peak)
      continue;
    timeline.peak = timeline.live.back();
    timeline.peakCommand = command;
  }
  return timeline;
}

} // namespace gradus::cli
