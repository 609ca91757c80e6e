// Places blocks with lifetimes in one arena: the packing problem of memory
// planning, apart from graphs.
#pragma once

#include <cstdint>
#include <vector>

namespace gradus {

/// Memory needed from command `begin` up to, not including, command `end`.
struct Block {
  int64_t size; // bytes, a multiple of 64
  int64_t begin;
  int64_t end;
};

struct Packing {
  std::vector<int64_t> offsets; // one a block
  int64_t size = 0;             // of the arena
};

/// The largest sum of sizes alive at one command: no arena is smaller.
int64_t livenessBound(const std::vector<Block> &blocks);

/// Offsets such that blocks alive together do not overlap. Greedy best fit in
/// several orders, then a search that moves the blocks that stick out forward;
/// stops at the bound. Same blocks, same offsets.
Packing packBlocks(const std::vector<Block> &blocks);

} // namespace gradus
