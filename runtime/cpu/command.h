// A command of a plan, prepared at load to run on the CPU without a look-up or
// an allocation. Each kind has a file in runtime/commands/.

#pragma once

#include "runtime/artifact/artifact.h"
#include "runtime/collectives/open_sums.h"
#include "runtime/cpu/thread_pool.h"

#include "runtime/status.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace gradus::runtime {

class Command {
public:
  virtual ~Command() = default;
  virtual Status run() = 0;

  /// The bytes of scratch that the command needs beyond the plan's. Commands
  /// run one after another and share this memory.
  virtual size_t extraScratch() const { return 0; }
  virtual Status setExtraScratch(void *) { return Status(); }
};

/// The facts that commands are made from. The objects it points to outlive the
/// commands; the context itself does not.
struct CommandContext {
  const artifact::Plan &plan;
  const artifact::CodeHeader *kernels;
  const uint8_t *code;            // loaded
  std::vector<uint8_t *> buffers; // the address of each
  ThreadPool &pool;
  bool deterministic;
  OpenSums *sums = nullptr; // over ranks; null: one alone
};

StatusOr<std::unique_ptr<Command>>
prepareCommand(const CommandContext &context, const artifact::Command &command);

} // namespace gradus::runtime
