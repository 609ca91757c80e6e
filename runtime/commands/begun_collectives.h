// What the command `start` begins, as collectives.
#pragma once

#include "runtime/artifact_generated.h"
#include "runtime/collectives/collective.h"

#include <span>
#include <vector>

namespace gradus::runtime {

/// The collectives of a command of a verified plan, in the order in which they
/// begin. `buffers` is the memory of the plan's buffers; without any they have
/// none, and say what is sent.
std::vector<Collective>
begunCollectives(const artifact::Plan &plan,
                 const artifact::StartCommand &start,
                 std::span<uint8_t *const> buffers = {});

} // namespace gradus::runtime
