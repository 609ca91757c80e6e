// Selects the code that prepares a command by its kind.

#include "runtime/cpu/command.h"

namespace gradus::runtime {

StatusOr<std::unique_ptr<Command>>
prepareCommand(const CommandContext &context,
               const artifact::Command &command) {
  switch (command.kind_type()) {
#define GRADUS_COMMAND(Kind, text)                                             \
  case artifact::CommandKind::Kind##Command:                                   \
    return prepare##Kind(context, *command.kind_as_##Kind##Command());
#include "runtime/commands.def"
  default:
    return invalid("is of a kind that this runtime does not know");
  }
}

} // namespace gradus::runtime
