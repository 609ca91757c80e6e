// How much of the arena a step uses at each of its commands.

#pragma once

#include "frontends/cli/memory_map.h"

#include <cstdint>
#include <vector>

namespace gradus::cli {

struct ArenaTimeline {
  std::vector<uint64_t> live; // bytes in use while each command runs
  uint64_t peak = 0;          // the largest of them
  int peakCommand = 0;        // the first one with that many
};

/// Of the map of a graph with so many commands. What shares bytes, as a result
/// in the place of an operand does, counts once.
ArenaTimeline arenaTimeline(const std::vector<MapEntry> &map, int commands);

} // namespace gradus::cli
