// The use of the arena's bytes over time, for `inspect`.

#pragma once

#include "runtime/artifact/artifact.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::cli {

/// One buffer of one graph's plan.
struct MapEntry {
  uint32_t buffer = 0;
  artifact::Region region = artifact::Region::arena;
  uint64_t offset = 0, size = 0;
  std::string type;        // "f32 32x10"
  std::string use;         // name of an input, output or state, or its command
  int first = 0, last = 0; // commands
};

/// The buffers that a graph uses, sorted by region and offset.
std::vector<MapEntry> memoryMap(const runtime::Artifact &artifact,
                                const artifact::Plan &plan,
                                const artifact::GraphPlan &graph);

} // namespace gradus::cli
