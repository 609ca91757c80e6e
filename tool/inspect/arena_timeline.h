// The bytes of the arena that a step uses at each of its commands.

#pragma once

#include "tool/inspect/memory_map.h"

#include <cstdint>
#include <vector>

namespace gradus::cli {

struct ArenaTimeline {
  std::vector<uint64_t> live; // bytes in use while each command runs
  uint64_t peak = 0;          // the maximum
  int peakCommand = 0;        // the first at the maximum
};

/// Builds the timeline from a graph's memory map; `commands` is the number of
/// commands. Bytes that buffers share, such as those of a result in place of an
/// operand, count once.
ArenaTimeline arenaTimeline(const std::vector<MapEntry> &map, int commands);

} // namespace gradus::cli
