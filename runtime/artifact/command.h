// The kinds of commands, and text for them, for all devices.

#pragma once

#include "runtime/artifact/artifact.h"

#include "runtime/status.h"

#include <cstddef>

namespace gradus::runtime {

/// Calls `visit` with the table of a command's kind, or `otherwise` for a kind
/// that this runtime does not know, and returns what that returns.
template <typename Otherwise, typename Visit>
auto visitCommand(const artifact::Command &command, Otherwise otherwise,
                  Visit visit) -> decltype(otherwise()) {
  switch (command.kind_type()) {
#define GRADUS_COMMAND(Kind, text)                                             \
  case artifact::CommandKind::Kind##Command:                                   \
    return visit(*command.kind_as_##Kind##Command());
#include "runtime/commands.def"
  default:
    return otherwise();
  }
}

/// The kind of a command in words: "kernel".
const char *kindOf(const artifact::Command &command);

/// Puts "graph train: command 12 (conv+bias): " in front of a failure.
Status atCommand(const Status &status, const artifact::Header &header,
                 const artifact::GraphPlan &graph, size_t command);

} // namespace gradus::runtime
