// The command copy: destination <- source, whole buffers of equal size.

#include "runtime/artifact/command_kinds.h"
#include "runtime/artifact/verify.h"
#include "runtime/cpu/command.h"

#include <algorithm>
#include <cstring>

namespace gradus::runtime {

Status verifyKind(const artifact::Plan &plan, const artifact::CodeHeader *,
                  const artifact::CopyCommand &copy) {
  GRADUS_TRY(verifyBuffer(plan, copy.source(), false));
  GRADUS_TRY(verifyBuffer(plan, copy.destination(), true));
  uint64_t from = plan.buffers()->Get(copy.source())->size();
  uint64_t to = plan.buffers()->Get(copy.destination())->size();
  if (from != to)
    return invalid("copies ", from, " bytes to ", to);
  const artifact::Buffer &source = *plan.buffers()->Get(copy.source()),
                         &destination =
                             *plan.buffers()->Get(copy.destination());
  uint64_t apart = std::max(source.offset(), destination.offset()) -
                   std::min(source.offset(), destination.offset());
  if (source.region() == destination.region() && apart > 0 && apart < from)
    return invalid("copies ", from, " bytes to a place ", apart,
                   " bytes from where they are");
  return Status();
}

std::vector<BufferUse> usesOfKind(const artifact::Plan &plan,
                                  const artifact::CodeHeader *,
                                  const artifact::CopyCommand &command) {
  uint64_t bytes = plan.buffers()->Get(command.source())->size();
  return {{command.source(), bytes, /*isRead=*/true, /*isWritten=*/false},
          {command.destination(), bytes, /*isRead=*/false, /*isWritten=*/true}};
}

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
prepareKind(const CommandContext &context,
            const artifact::CopyCommand &command) {
  const artifact::Buffer *source =
      context.plan.buffers()->Get(command.source());
  return std::make_unique<Copy>(context.buffers[command.destination()],
                                context.buffers[command.source()],
                                source->size());
}

} // namespace gradus::runtime
