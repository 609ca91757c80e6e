// The functions of each kind of command, which stand in one file:
// runtime/commands/copy.cpp for a CopyCommand. The linker misses those that a
// kind lacks (docs/add_a_command.md).

#pragma once

#include "runtime/artifact/command_uses.h"

#include "runtime/status.h"

#include <memory>

namespace gradus::runtime {

class Command;         // runtime/cpu/command.h
struct CommandContext; // the same

/// verifyKind says what a file may not say, given that the plan's buffers and
/// kernels are verified. The others get what it has accepted: usesOfKind
/// returns the uses of buffers, arguments in order, and prepareKind makes what
/// a CPU runs, so that run() looks nothing up and allocates nothing.
#define GRADUS_COMMAND(Kind, text)                                             \
  Status verifyKind(const artifact::Plan &plan,                                \
                    const artifact::CodeHeader *kernels,                       \
                    const artifact::Kind##Command &command);                   \
  std::vector<BufferUse> usesOfKind(const artifact::Plan &plan,                \
                                    const artifact::CodeHeader *kernels,       \
                                    const artifact::Kind##Command &command);   \
  StatusOr<std::unique_ptr<Command>> prepareKind(                              \
      const CommandContext &context, const artifact::Kind##Command &command);
#include "runtime/commands.def"

} // namespace gradus::runtime
