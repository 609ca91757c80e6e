// Asks the kind of a command what a file may not say.

#include "runtime/artifact/command.h"
#include "runtime/artifact/command_kinds.h"
#include "runtime/artifact/verify.h"

namespace gradus::runtime {

Status verifyCommand(const artifact::Plan &plan,
                     const artifact::CodeHeader *kernels,
                     const artifact::Command &command) {
  if (!command.kind())
    return invalid("does nothing");
  auto unknown = [&] {
    return invalid("is of kind ", static_cast<int>(command.kind_type()),
                   ", which this runtime does not know");
  };
  return visitCommand(command, unknown, [&](const auto &kind) {
    return verifyKind(plan, kernels, kind);
  });
}

} // namespace gradus::runtime
