// The command library: matmul, convolution and reorder by oneDNN.

#include "runtime/artifact/command_kinds.h"
#include "runtime/artifact/verify.h"
#include "runtime/cpu/block_reorder.h"
#include "runtime/cpu/command.h"

#ifdef GRADUS_WITH_ONEDNN
#include "runtime/cpu/onednn.h"
#endif

#include <algorithm>
#include <optional>

namespace gradus::runtime {

Status verifyKind(const artifact::Plan &plan,
                  const artifact::CodeHeader *kernels,
                  const artifact::LibraryCommand &command) {
  GRADUS_TRY(verifyLibrary(plan, command));
  return verifyEpilogue(plan, kernels, command);
}

std::vector<BufferUse> usesOfKind(const artifact::Plan &plan,
                                  const artifact::CodeHeader *,
                                  const artifact::LibraryCommand &command) {
  std::vector<BufferUse> uses;
  auto add = [&](const auto *tensors, bool areWritten) {
    for (size_t i = 0; i < countOf(tensors); ++i)
      uses.push_back(useOf(*tensors->Get(unsigned(i)), areWritten));
  };
  add(command.inputs(), false);
  add(command.outputs(), true);
  if (uint32_t scratch = command.scratch(); scratch != UINT32_MAX)
    uses.push_back(
        {scratch, plan.buffers()->Get(scratch)->size(), true, true, true});
  return uses;
}

namespace {

/// A reorder by our own code.
class Reorder : public Command {
public:
  Reorder(BlockReorder reorder, const CommandContext &context,
          const artifact::LibraryCommand &command)
      : reorder_(std::move(reorder)), pool_(context.pool),
        from_(context.buffers[command.inputs()->Get(0)->buffer()]),
        to_(context.buffers[command.outputs()->Get(0)->buffer()]) {}

  Status run() override {
    reorder_.run(from_, to_, pool_);
    return Status();
  }

private:
  BlockReorder reorder_;
  ThreadPool &pool_;
  const uint8_t *from_;
  uint8_t *to_;
};

std::unique_ptr<Command> ownReorder(const CommandContext &context,
                                    const artifact::LibraryCommand &command) {
  std::optional<BlockReorder> reorder = BlockReorder::create(command);
  return reorder
             ? std::make_unique<Reorder>(std::move(*reorder), context, command)
             : nullptr;
}

} // namespace

#ifdef GRADUS_WITH_ONEDNN

namespace {

class Library : public Command {
public:
  explicit Library(std::unique_ptr<OneDnnCall> call) : call_(std::move(call)) {}

  Status run() override { return call_->run(); }

  /// The plan's scratch was measured on the compiling machine; the library's
  /// need depends on the CPU.
  Status plan(uint8_t *scratch, size_t size) {
    if (size >= call_->scratchSize())
      return call_->setScratch(scratch);
    missing_ = call_->scratchSize();
    return Status();
  }
  size_t extraScratch() const override { return missing_; }
  Status setExtraScratch(void *scratch) override {
    return missing_ ? call_->setScratch(scratch) : Status();
  }

private:
  std::unique_ptr<OneDnnCall> call_;
  size_t missing_ = 0;
};

/// Bits depend only on this number, so a deterministic session always has 1.
int logicalThreads(const CommandContext &context,
                   const artifact::LibraryCommand &command) {
  if (context.deterministic)
    return 1;
  if (command.logical_threads() == 0)
    return context.pool.threadsWithCores();
  return static_cast<int>(
      std::min<uint32_t>(command.logical_threads(),
                         static_cast<uint32_t>(context.pool.threads())));
}

} // namespace

StatusOr<std::unique_ptr<Command>>
prepareKind(const CommandContext &context,
            const artifact::LibraryCommand &command) {
  if (auto own = ownReorder(context, command))
    return own;
  GRADUS_ASSIGN(auto call,
                OneDnnCall::create(command, context.buffers, context.pool,
                                   logicalThreads(context, command)));
  auto library = std::make_unique<Library>(std::move(call));
  uint32_t scratch = command.scratch();
  if (scratch == UINT32_MAX)
    GRADUS_TRY(library->plan(nullptr, 0));
  else
    GRADUS_TRY(library->plan(context.buffers[scratch],
                             context.plan.buffers()->Get(scratch)->size()));
  return library;
}

#else

StatusOr<std::unique_ptr<Command>>
prepareKind(const CommandContext &context,
            const artifact::LibraryCommand &command) {
  if (auto own = ownReorder(context, command))
    return own;
  return invalid("needs oneDNN, which this runtime was built without");
}

#endif

} // namespace gradus::runtime
