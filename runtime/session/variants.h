// The variants of a graph, and which of them a step runs.
#pragma once

#include "runtime/artifact/artifact.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::runtime {

/// The graphs that may run instead of one: the first variant with k % every ==
/// at, else the last.
struct Variants {
  std::vector<uint32_t> graphs; // empty: no schedule names the graph
  std::vector<int64_t> every, at;
  std::string counterName;
  int counter = -1; // a state; -1: the number of runs of the graph

  size_t graphAt(int64_t step) const;
};

Variants variantsOf(const artifact::Schedule &schedule);

} // namespace gradus::runtime
