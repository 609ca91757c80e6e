// Verifies a command: its buffers exist, are large enough and may be written.

#include "runtime/command.h"
#include "runtime/flat.h"
#include "runtime/status.h"
#include "runtime/verify.h"

#include <algorithm>

namespace gradus::runtime {

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

Status verifyKind(const artifact::Plan &plan,
                  const artifact::CodeHeader *kernels,
                  const artifact::LibraryCommand &command) {
  GRADUS_TRY(verifyLibrary(plan, command));
  return verifyEpilogue(plan, kernels, command);
}

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

} // namespace

Status verifyCommand(const artifact::Plan &plan,
                     const artifact::CodeHeader *kernels,
                     const artifact::Command &command) {
  if (!command.kind())
    return invalid("does nothing");
  auto status =
      visitCommand(command, std::optional<Status>(), [&](const auto &kind) {
        return std::optional(verifyKind(plan, kernels, kind));
      });
  return status ? *status
                : invalid("is of kind ", static_cast<int>(command.kind_type()),
                          ", which this runtime does not know");
}

} // namespace gradus::runtime
