// Packs blocks with lifetimes into one arena: memory planning without the
// graph.
#pragma once

#include <cstdint>
#include <vector>

namespace gradus {

/// A block that is live from command `begin` up to, not including, command
/// `end`.
struct PlannedBlock {
  int64_t size; // bytes, a multiple of 64
  int64_t begin;
  int64_t end;
};

struct Packing {
  std::vector<int64_t> offsets; // one a block
  int64_t size = 0;             // of the arena
};

/// The largest sum of sizes that are live at one command: the minimum of any
/// arena.
int64_t livenessBound(const std::vector<PlannedBlock> &blocks);

/// Chooses offsets such that blocks that are live together do not overlap:
/// greedy best fit in several orders, then a search that moves blocks which end
/// last forward, until the bound is reached. The same blocks get the same
/// offsets.
Packing packBlocks(const std::vector<PlannedBlock> &blocks);

} // namespace gradus
