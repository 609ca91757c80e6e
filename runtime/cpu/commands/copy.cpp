// The command copy: destination <- source, whole buffers of equal size.

#include "runtime/cpu/command.h"

#include <cstring>

namespace gradus::runtime {

namespace {

class Copy : public Command {
public:
  Copy(uint8_t *to, const uint8_t *from, size_t size)
      : to_(to), from_(from), size_(size) {}

  Status run() override {
    if (to_ != from_ && size_ > 0)
      std::memmove(to_, from_, size_);
    return Status();
  }

private:
  uint8_t *to_;
  const uint8_t *from_;
  size_t size_;
};

} // namespace

StatusOr<std::unique_ptr<Command>>
prepareCopy(const CommandContext &context,
            const artifact::CopyCommand &command) {
  const artifact::Buffer *source =
      context.plan.buffers()->Get(command.source());
  return std::make_unique<Copy>(context.buffers[command.destination()],
                                context.buffers[command.source()],
                                source->size());
}

} // namespace gradus::runtime
