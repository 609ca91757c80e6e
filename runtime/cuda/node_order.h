// What must come before what among the nodes of a graph: only where bytes say
// so, or one after the other.
#pragma once

#include "runtime/cuda/driver.h"

#include <span>
#include <vector>

namespace gradus::runtime::cuda {

/// Of each node the earlier ones that it waits for, in rising order.
using Edges = std::vector<std::vector<uint32_t>>;

/// Each node waits for the one before it.
Edges chainOf(size_t nodes);

/// Nodes wait where they touch the same bytes and one of both writes them: the
/// fewest edges with a path between any two such nodes. `accesses` in the order
/// of a correct run.
Edges orderByBytes(std::span<const std::vector<Access>> accesses);

} // namespace gradus::runtime::cuda
