// Text for commands: their kinds, and the place of a failure.

#include "runtime/artifact/command.h"

#include "runtime/flat.h"

namespace gradus::runtime {

const char *kindOf(const artifact::Command &command) {
  switch (command.kind_type()) {
#define GRADUS_COMMAND(Kind, text)                                             \
  case artifact::CommandKind::Kind##Command:                                   \
    return text;
#include "runtime/commands.def"
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
