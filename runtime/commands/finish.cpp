// The command finish: waits for a sum over the ranks that `start` began, and
// copies what shall lie elsewhere.

#include "runtime/artifact/command_kinds.h"
#include "runtime/artifact/verify.h"
#include "runtime/cpu/command.h"

#include <cstring>

namespace gradus::runtime {

/// The sums are those of a `start` whose buffers have been verified:
/// runtime/artifact/verify_sums.cpp pairs the two.
Status verifyKind(const artifact::Plan &plan, const artifact::CodeHeader *,
                  const artifact::FinishCommand &finish) {
  size_t count = countOf(finish.buffers());
  if (countOf(finish.results()) != count)
    return invalid("has ", countOf(finish.results()), " results of ", count,
                   " sums");
  for (size_t i = 0; i < count; ++i) {
    GRADUS_TRY(verifyBuffer(plan, finish.buffers()->Get(i), false));
    GRADUS_TRY(verifyBuffer(plan, finish.results()->Get(i), true));
    const artifact::Buffer &sum =
                               *plan.buffers()->Get(finish.buffers()->Get(i)),
                           &to = *plan.buffers()->Get(finish.results()->Get(i));
    if (typeOf(sum.type()) != typeOf(to.type()))
      return invalid("puts a sum of ", toString(typeOf(sum.type())),
                     " where there is ", toString(typeOf(to.type())));
    uint64_t apart = std::max(sum.offset(), to.offset()) -
                     std::min(sum.offset(), to.offset());
    if (sum.region() == to.region() && apart > 0 && apart < sum.size())
      return invalid("copies ", sum.size(), " bytes to a place ", apart,
                     " bytes from where they are");
  }
  return Status();
}

std::vector<BufferUse> usesOfKind(const artifact::Plan &plan,
                                  const artifact::CodeHeader *,
                                  const artifact::FinishCommand &command) {
  std::vector<BufferUse> uses;
  auto add = [&](uint32_t number, bool isResult) {
    uint64_t bytes = *bytesOf(typeOf(plan.buffers()->Get(number)->type()));
    uses.push_back({number, bytes, !isResult, isResult});
  };
  for (size_t i = 0; i < countOf(command.buffers()); ++i)
    add(command.buffers()->Get(i), false);
  for (size_t i = 0; i < countOf(command.results()); ++i)
    add(command.results()->Get(i), true);
  return uses;
}

namespace {

/// A sum that shall lie elsewhere.
struct Moved {
  uint8_t *to;
  const uint8_t *from;
  size_t bytes;
};

class Finish : public Command {
public:
  Finish(OpenSums *open, std::vector<Moved> moved)
      : open_(open), moved_(std::move(moved)) {}

  Status run() override {
    if (open_)
      GRADUS_TRY(open_->finish());
    for (const Moved &each : moved_)
      std::memcpy(each.to, each.from, each.bytes);
    return Status();
  }

private:
  OpenSums *open_; // null: one rank alone
  std::vector<Moved> moved_;
};

} // namespace

StatusOr<std::unique_ptr<Command>>
prepareKind(const CommandContext &context,
            const artifact::FinishCommand &command) {
  std::vector<Moved> moved;
  for (size_t i = 0; i < countOf(command.buffers()); ++i) {
    uint8_t *from = context.buffers[command.buffers()->Get(i)],
            *to = context.buffers[command.results()->Get(i)];
    const artifact::Buffer *buffer =
        context.plan.buffers()->Get(command.buffers()->Get(i));
    if (size_t bytes = *bytesOf(typeOf(buffer->type())); bytes && from != to)
      moved.push_back({to, from, bytes});
  }
  return std::make_unique<Finish>(context.sums, std::move(moved));
}

} // namespace gradus::runtime
