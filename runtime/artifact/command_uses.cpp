// Asks the kind of a command.

#include "runtime/artifact/command_uses.h"

#include "runtime/artifact/command.h"
#include "runtime/artifact/command_kinds.h"

namespace gradus::runtime {

std::vector<BufferUse> usesOf(const artifact::Plan &plan,
                              const artifact::CodeHeader *kernels,
                              const artifact::Command &command) {
  auto none = [] { return std::vector<BufferUse>(); };
  return visitCommand(command, none, [&](const auto &kind) {
    return usesOfKind(plan, kernels, kind);
  });
}

std::vector<uint32_t> buffersWritten(const artifact::Plan &plan,
                                     const artifact::CodeHeader *kernels,
                                     const artifact::Command &command) {
  std::vector<uint32_t> written;
  for (const BufferUse &use : usesOf(plan, kernels, command))
    if (use.isWritten && !use.isScratch)
      written.push_back(use.buffer);
  return written;
}

} // namespace gradus::runtime
