// Text for commands, for all devices.

#pragma once

#include "runtime/artifact.h"

#include "runtime/status.h"

#include <cstddef>

namespace gradus::runtime {

/// The kind of a command: "kernel", "library" or "copy".
const char *kindOf(const artifact::Command &command);

/// Puts "graph train: command 12 (conv+bias): " in front of a failure.
Status atCommand(const Status &status, const artifact::Header &header,
                 const artifact::GraphPlan &graph, size_t command);

} // namespace gradus::runtime
