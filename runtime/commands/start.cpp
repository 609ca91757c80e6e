// The command start: begins to sum buffers over the ranks, in place.

#include "runtime/artifact/command_kinds.h"
#include "runtime/artifact/joined_sums.h"
#include "runtime/artifact/verify.h"
#include "runtime/commands/begun_collectives.h"
#include "runtime/cpu/command.h"

#include <climits>
#include <cmath>
#include <optional>

namespace gradus::runtime {

namespace {

/// The most buffers that ranks combine at once in groups or in parts: a rank
/// has products and ranges of each of them.
constexpr size_t kMostMembers = size_t{1} << 20;
/// The most elements that a part is a multiple of: 64 bytes are at most 64, and
/// larger multiples are padding.
constexpr uint64_t kMostUnit = 1 << 16;

bool canBeSummed(DType type) {
  return type == DType::f32 || type == DType::f64 || type == DType::f16 ||
         type == DType::bf16 || type == DType::i64;
}

Status verifySummand(const artifact::Plan &plan,
                     const artifact::StartCommand &start, uint32_t number) {
  GRADUS_TRY(verifyBuffer(plan, number, true));
  const artifact::Buffer &buffer = *plan.buffers()->Get(number);
  if (buffer.region() != artifact::Region::arena)
    return invalid("sums buffer ", number, ", which is not in the arena");
  if (DType type = typeOf(buffer.type()).dtype;
      !gathers(start) && !canBeSummed(type))
    return invalid("sums ", nameOf(type), ", expected floats or i64");
  return Status();
}

Status verifyGroups(const artifact::Plan &plan,
                    const artifact::StartCommand &start) {
  const artifact::RankGroups &groups = *start.groups();
  if (groups.within() > INT_MAX)
    return invalid("has groups of ", groups.within(),
                   " ranks, expected at most ", INT_MAX);
  if (groups.across() > artifact::Across::MAX)
    return invalid("combines groups in the way ", int(groups.across()),
                   ", expected at most ", int(artifact::Across::MAX));
  if (!(groups.epsilon() >= 0) || !std::isfinite(groups.epsilon()))
    return invalid("has the epsilon ", groups.epsilon(),
                   ", expected a finite number from 0 on");
  size_t count = countOf(start.buffers());
  if (count == 0 || count > kMostMembers)
    return invalid("combines ", count, " buffers in groups, expected 1 to ",
                   kMostMembers);
  if (gathers(start))
    return groups.within() == 1 ? Status()
                                : invalid("gathers groups of ", groups.within(),
                                          " ranks, expected 1");
  std::optional<DType> first;
  for (size_t i = 0; i < count; ++i) {
    DType type =
        typeOf(plan.buffers()->Get(start.buffers()->Get(i))->type()).dtype;
    if (type != first.value_or(type) ||
        (type != DType::f32 && type != DType::f64))
      return invalid("combines ", nameOf(type),
                     " in groups, expected f32 alone or f64 alone");
    first = type;
  }
  return Status();
}

Status verifyParts(const artifact::Plan &plan,
                   const artifact::StartCommand &start) {
  const artifact::RankParts &parts = *start.parts();
  if (start.groups())
    return invalid("has groups and parts, expected one of them");
  if (parts.half() > artifact::Half::MAX)
    return invalid("is the half ", int(parts.half()),
                   " of a sum, expected at most ", int(artifact::Half::MAX));
  size_t count = countOf(start.buffers());
  if (count == 0 || count > kMostMembers)
    return invalid("has parts of ", count, " buffers, expected 1 to ",
                   kMostMembers);
  if (parts.unit() < 1 || parts.unit() > kMostUnit)
    return invalid("has parts in multiples of ", parts.unit(),
                   " elements, expected 1 to ", kMostUnit);
  DType first =
      typeOf(plan.buffers()->Get(start.buffers()->Get(0))->type()).dtype;
  for (size_t i = 0; i < count; ++i) {
    DType type =
        typeOf(plan.buffers()->Get(start.buffers()->Get(i))->type()).dtype;
    if (type != first || type == DType::i64)
      return invalid("has parts of ", nameOf(type),
                     ", expected floats of one type");
  }
  return Status();
}

} // namespace

Status verifyKind(const artifact::Plan &plan, const artifact::CodeHeader *,
                  const artifact::StartCommand &start) {
  for (size_t i = 0; i < countOf(start.buffers()); ++i)
    GRADUS_TRY(verifySummand(plan, start, start.buffers()->Get(i)));
  if (start.parts())
    return verifyParts(plan, start);
  return start.groups() ? verifyGroups(plan, start) : Status();
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

} // namespace

StatusOr<std::unique_ptr<Command>>
prepareKind(const CommandContext &context,
            const artifact::StartCommand &command) {
  return std::make_unique<Start>(
      context.sums, begunCollectives(context.plan, command, context.buffers));
}

} // namespace gradus::runtime
