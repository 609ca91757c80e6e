// Text for commands: their kinds, and the place of a failure.

#include "runtime/command.h"

#include "runtime/flat.h"

namespace gradus::runtime {

const char *kindOf(const artifact::Command &command) {
  switch (command.kind_type()) {
  case artifact::CommandKind::KernelCommand:
    return "kernel";
  case artifact::CommandKind::LibraryCommand:
    return "library";
  case artifact::CommandKind::CopyCommand:
    return "copy";
  default:
    return "unknown";
  }
}

Status atCommand(const Status &status, const artifact::Header &header,
                 const artifact::GraphPlan &graph, size_t command) {
  if (status.ok())
    return status;
  return at(status, "graph ",
            textOf(header.graphs()->Get(graph.graph())->name()), ": command ",
            command, " (", textOf(graph.commands()->Get(command)->name()), ")");
}

} // namespace gradus::runtime
