// The command start: begins to sum buffers over the ranks, in place.

#include "runtime/artifact/command_kinds.h"
#include "runtime/artifact/verify.h"
#include "runtime/cpu/command.h"

namespace gradus::runtime {

namespace {

bool canBeSummed(DType type) {
  return type == DType::f32 || type == DType::f64 || type == DType::f16 ||
         type == DType::bf16 || type == DType::i64;
}

Status verifySummand(const artifact::Plan &plan, uint32_t number) {
  GRADUS_TRY(verifyBuffer(plan, number, true));
  const artifact::Buffer &buffer = *plan.buffers()->Get(number);
  if (buffer.region() != artifact::Region::arena)
    return invalid("sums buffer ", number, ", which is not in the arena");
  if (DType type = typeOf(buffer.type()).dtype; !canBeSummed(type))
    return invalid("sums ", nameOf(type), ", expected floats or i64");
  return Status();
}

} // namespace

Status verifyKind(const artifact::Plan &plan, const artifact::CodeHeader *,
                  const artifact::StartCommand &start) {
  for (size_t i = 0; i < countOf(start.buffers()); ++i)
    GRADUS_TRY(verifySummand(plan, start.buffers()->Get(i)));
  return Status();
}

/// The sums themselves are results of the command finish.
std::vector<BufferUse> usesOfKind(const artifact::Plan &plan,
                                  const artifact::CodeHeader *,
                                  const artifact::StartCommand &command) {
  std::vector<BufferUse> uses;
  for (size_t i = 0; i < countOf(command.buffers()); ++i) {
    uint32_t number = command.buffers()->Get(i);
    uint64_t bytes = *bytesOf(typeOf(plan.buffers()->Get(number)->type()));
    uses.push_back({number, bytes, /*isRead=*/true, /*isWritten=*/false});
  }
  return uses;
}

namespace {

class Start : public Command {
public:
  Start(OpenSums *open, std::vector<Collective> sums)
      : open_(open), sums_(std::move(sums)) {}

  Status run() override {
    if (open_)
      open_->begin(sums_);
    return Status();
  }

private:
  OpenSums *open_; // null: one rank alone
  std::vector<Collective> sums_;
};

/// Whether `next` lies behind a sum, in the same line of 64 bytes or the next.
bool continues(const Collective &sum, const Collective &next) {
  auto *end = static_cast<uint8_t *>(sum.data) + sum.count * bytesOf(sum.type),
       *begin = static_cast<uint8_t *>(next.data);
  return sum.type == next.type && begin >= end && begin - end < 64;
}

/// Makes one sum of neighbours. The bytes between them are padding: the sum
/// changes them, but no command reads these, and none uses them before the sum
/// has ended (runtime/artifact/verify_sums.cpp).
void append(std::vector<Collective> &sums, const Collective &next) {
  if (sums.empty() || !continues(sums.back(), next))
    return sums.push_back(next);
  auto *begin = static_cast<uint8_t *>(sums.back().data),
       *last = static_cast<uint8_t *>(next.data);
  sums.back().count =
      static_cast<uint64_t>(last - begin) / bytesOf(next.type) + next.count;
}

} // namespace

StatusOr<std::unique_ptr<Command>>
prepareKind(const CommandContext &context,
            const artifact::StartCommand &command) {
  std::vector<Collective> sums;
  for (size_t i = 0; i < countOf(command.buffers()); ++i) {
    uint32_t number = command.buffers()->Get(i);
    TensorType type = typeOf(context.plan.buffers()->Get(number)->type());
    if (uint64_t bytes = *bytesOf(type))
      append(sums, {.type = type.dtype,
                    .data = context.buffers[number],
                    .count = bytes / bytesOf(type.dtype)});
  }
  return std::make_unique<Start>(context.sums, std::move(sums));
}

} // namespace gradus::runtime
