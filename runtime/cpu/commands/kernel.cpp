// The command kernel: runs machine code of the artifact on the items of one or
// more segments.
//
// Each segment is cut into blocks of `grain` items. The cuts are the same for
// any number of threads, and so are the bits.

#include "runtime/cpu/command.h"
#include "runtime/flat.h"

#include <algorithm>

namespace gradus::runtime {

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
prepareKernel(const CommandContext &context,
              const artifact::KernelCommand &command) {
  return std::make_unique<Kernel>(context, command);
}

} // namespace gradus::runtime
