// The order of the nodes of a graph: one after another, or only where accesses
// to bytes conflict.
#pragma once

#include "runtime/cuda/driver/driver.h"

#include <span>
#include <vector>

namespace gradus::runtime::cuda {

/// The earlier nodes that each node depends on, in rising order.
using Edges = std::vector<std::vector<uint32_t>>;

/// Makes each node depend on the one before it.
Edges chainOf(size_t nodes);

/// Orders nodes that access the same bytes if one of them writes: with the
/// fewest edges that give a path between any two such nodes. `accesses` is in
/// the order of a correct run.
Edges orderByBytes(std::span<const std::vector<Access>> accesses);

} // namespace gradus::runtime::cuda
