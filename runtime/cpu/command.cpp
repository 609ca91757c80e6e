// Selects the code that prepares a command by its kind.

#include "runtime/cpu/command.h"

namespace gradus::runtime {

StatusOr<std::unique_ptr<Command>>
prepareCommand(const CommandContext &context,
               const artifact::Command &command) {
  switch (command.kind_type()) {
  case artifact::CommandKind::KernelCommand:
    return prepareKernel(context, *command.kind_as_KernelCommand());
  case artifact::CommandKind::LibraryCommand:
    return prepareLibrary(context, *command.kind_as_LibraryCommand());
  case artifact::CommandKind::CopyCommand:
    return prepareCopy(context, *command.kind_as_CopyCommand());
  default:
    return invalid("is of a kind that this runtime does not know");
  }
}

} // namespace gradus::runtime
