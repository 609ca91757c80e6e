// The command kernel: runs machine code of the artifact on the items of one or
// more segments.
//
// Each segment is cut into blocks of `grain` items. The cuts are the same for
// any number of threads, and so are the bits.

#include "runtime/artifact/command_kinds.h"
#include "runtime/artifact/verify.h"
#include "runtime/cpu/command.h"

#include <algorithm>

namespace gradus::runtime {

//===-- what a file may say -----------------------------------------------===//

namespace {

/// The maximum number of blocks of all segments together; the pool counts them
/// in 32 bits.
constexpr int64_t kMostBlocks = (int64_t{1} << 31) - 1;

Status verifySegment(const artifact::Plan &plan,
                     const artifact::KernelSignature &kernel,
                     const artifact::Segment &segment) {
  size_t arguments = countOf(kernel.fixed_bytes());
  if (countOf(segment.buffers()) != arguments)
    return invalid("has ", countOf(segment.buffers()),
                   " buffers, and the kernel takes ", arguments);
  if (segment.items() < 0 ||
      (kernel.max_items() > 0 && segment.items() > kernel.max_items()))
    return invalid("has ", segment.items(),
                   " items, and the kernel takes at most ", kernel.max_items());
  for (size_t i = 0; i < arguments; ++i)
    GRADUS_TRY(at(
        verifyUse(plan, useOf(kernel, segment, i), segment.items(), " items"),
        "argument ", i));
  return Status();
}

} // namespace

Status verifyKind(const artifact::Plan &plan,
                  const artifact::CodeHeader *kernels,
                  const artifact::KernelCommand &command) {
  size_t count = kernels ? countOf(kernels->kernels()) : 0;
  if (command.kernel() >= count)
    return invalid("calls kernel ", command.kernel(), " of ", count);
  if (command.grain() < 1)
    return invalid("hands out ", command.grain(), " items at a time");
  const artifact::KernelSignature &kernel =
      *kernels->kernels()->Get(command.kernel());
  int64_t blocks = 0;
  for (size_t i = 0; i < countOf(command.segments()); ++i) {
    const artifact::Segment *segment = command.segments()->Get(i);
    GRADUS_TRY(at(verifySegment(plan, kernel, *segment), "segment ", i));
    int64_t items = segment->items();
    if (__builtin_add_overflow(blocks, items / command.grain() + 1, &blocks) ||
        blocks > kMostBlocks)
      return invalid("has more than ", kMostBlocks, " blocks of items");
  }
  return Status();
}

std::vector<BufferUse> usesOfKind(const artifact::Plan &,
                                  const artifact::CodeHeader *kernels,
                                  const artifact::KernelCommand &command) {
  const auto &signature = *kernels->kernels()->Get(command.kernel());
  std::vector<BufferUse> uses;
  for (size_t s = 0; s < countOf(command.segments()); ++s) {
    const artifact::Segment &segment = *command.segments()->Get(unsigned(s));
    for (size_t a = 0; a < countOf(segment.buffers()); ++a)
      uses.push_back(useOf(signature, segment, a));
  }
  return uses;
}

//===-- on a CPU ----------------------------------------------------------===//

namespace {

using Entry = void (*)(void **buffers, int64_t begin, int64_t end);

// A sanitizer would look for the function's type before its first byte, where
// loaded code has nothing.
#if defined(__clang__)
#define GRADUS_CALLS_LOADED_CODE __attribute__((no_sanitize("function")))
#else
#define GRADUS_CALLS_LOADED_CODE
#endif

struct Segment {
  size_t table; // of its buffers, in Kernel::buffers_
  int64_t items;
  int64_t firstBlock; // counted through all segments
};

class Kernel : public Command {
public:
  Kernel(const CommandContext &context, const artifact::KernelCommand &command);

  Status run() override {
    // Most small kernels have one segment of one block.
    if (blocks_ == 1 || pool_.threads() == 1)
      for (int64_t block = 0; block < blocks_; ++block)
        runBlock(block);
    else
      pool_.run(
          blocks_,
          [](void *self, int64_t block) {
            static_cast<Kernel *>(self)->runBlock(block);
          },
          this);
    return Status();
  }

private:
  void add(const CommandContext &context, const artifact::Segment &segment);
  const Segment &segmentOf(int64_t block) const;
  void runBlock(int64_t block);

  Entry entry_;
  ThreadPool &pool_;
  int64_t grain_;
  int64_t blocks_ = 0;
  std::vector<Segment> segments_; // those with items
  std::vector<void *> buffers_;   // the tables of all segments
};

Kernel::Kernel(const CommandContext &context,
               const artifact::KernelCommand &command)
    : pool_(context.pool), grain_(command.grain()) {
  const auto *signature = context.kernels->kernels()->Get(command.kernel());
  entry_ = reinterpret_cast<Entry>(
      reinterpret_cast<uintptr_t>(context.code + signature->entry()));
  for (size_t i = 0; i < countOf(command.segments()); ++i)
    add(context, *command.segments()->Get(i));
}

void Kernel::add(const CommandContext &context,
                 const artifact::Segment &segment) {
  if (segment.items() == 0)
    return;
  segments_.push_back({buffers_.size(), segment.items(), blocks_});
  blocks_ += (segment.items() - 1) / grain_ + 1;
  for (size_t i = 0; i < countOf(segment.buffers()); ++i)
    buffers_.push_back(context.buffers[segment.buffers()->Get(i)]);
}

const Segment &Kernel::segmentOf(int64_t block) const {
  if (segments_.size() == 1)
    return segments_.front();
  auto after = std::upper_bound(segments_.begin(), segments_.end(), block,
                                [](int64_t wanted, const Segment &segment) {
                                  return wanted < segment.firstBlock;
                                });
  return *std::prev(after);
}

GRADUS_CALLS_LOADED_CODE void Kernel::runBlock(int64_t block) {
  const Segment &segment = segmentOf(block);
  int64_t begin = (block - segment.firstBlock) * grain_;
  int64_t end = grain_ < segment.items - begin ? begin + grain_ : segment.items;
  entry_(buffers_.data() + segment.table, begin, end);
}

} // namespace

StatusOr<std::unique_ptr<Command>>
prepareKind(const CommandContext &context,
            const artifact::KernelCommand &command) {
  return std::make_unique<Kernel>(context, command);
}

} // namespace gradus::runtime
