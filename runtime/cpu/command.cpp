// Asks the kind of a command for what runs it.

#include "runtime/cpu/command.h"

#include "runtime/artifact/command.h"
#include "runtime/artifact/command_kinds.h"

namespace gradus::runtime {

StatusOr<std::unique_ptr<Command>>
prepareCommand(const CommandContext &context,
               const artifact::Command &command) {
  auto unknown = []() -> StatusOr<std::unique_ptr<Command>> {
    return invalid("is of a kind that this runtime does not know");
  };
  return visitCommand(command, unknown, [&](const auto &kind) {
    return prepareKind(context, kind);
  });
}

} // namespace gradus::runtime
