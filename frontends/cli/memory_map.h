// Who uses which bytes of the arena, and when: for `inspect`.

#pragma once

#include "runtime/artifact.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::cli {

/// One buffer of one graph's plan.
struct MapEntry {
  uint32_t buffer = 0;
  artifact::Region region = artifact::Region::arena;
  uint64_t offset = 0, size = 0;
  std::string type; // "f32 32x10"
  std::string use;  // an input's, output's or state's name, or what made it
  int first = 0, last = 0; // commands
};

/// The buffers that a graph uses, in the order of region and offset.
std::vector<MapEntry> memoryMap(const artifact::Header &header,
                                const artifact::Plan &plan,
                                const artifact::GraphPlan &graph);

} // namespace gradus::cli
