// A sum of joined buffers, a reduction of buffers in groups, or a gathering of
// each.

#include "runtime/commands/begun_collectives.h"

#include "runtime/artifact/joined_sums.h"
#include "runtime/flat.h"

#include <climits>

namespace gradus::runtime {

static Groups groupsBy(const artifact::RankGroups &facts) {
  Groups groups;
  groups.within = static_cast<int>(facts.within());
  groups.averages = facts.averages();
  groups.across = static_cast<Across>(facts.across());
  groups.epsilon = facts.epsilon();
  return groups;
}

/// All ranks are one group.
static Groups groupOfParts(const artifact::RankParts &facts) {
  Groups groups;
  groups.within = INT_MAX;
  groups.parts =
      facts.half() == artifact::Half::gather ? Parts::gather : Parts::reduce;
  groups.unit = facts.unit();
  return groups;
}

static Collective inGroups(const artifact::Plan &plan,
                           const artifact::StartCommand &start,
                           std::span<uint8_t *const> buffers) {
  auto groups = std::make_shared<Groups>(
      start.parts() ? groupOfParts(*start.parts()) : groupsBy(*start.groups()));
  Collective collective{.op = CollectiveOp::groupReduce};
  for (size_t i = 0; i < countOf(start.buffers()); ++i) {
    uint32_t number = start.buffers()->Get(i);
    TensorType type = typeOf(plan.buffers()->Get(number)->type());
    collective.type = type.dtype;
    uint64_t count = *bytesOf(type) / bytesOf(type.dtype);
    collective.count += count;
    groups->members.push_back(
        {buffers.empty() ? nullptr : buffers[number], count});
  }
  collective.groups = std::move(groups);
  return collective;
}

/// One for each buffer, as parts of two buffers do not follow each other.
static std::vector<Collective> gathered(const artifact::Plan &plan,
                                        const artifact::StartCommand &start,
                                        std::span<uint8_t *const> buffers) {
  std::vector<Collective> gathers;
  for (size_t i = 0; i < countOf(start.buffers()); ++i) {
    uint32_t number = start.buffers()->Get(i);
    TensorType type = typeOf(plan.buffers()->Get(number)->type());
    gathers.push_back({.op = CollectiveOp::allGather,
                       .type = type.dtype,
                       .data = buffers.empty() ? nullptr : buffers[number],
                       .count = *bytesOf(type) / bytesOf(type.dtype)});
  }
  return gathers;
}

std::vector<Collective> begunCollectives(const artifact::Plan &plan,
                                         const artifact::StartCommand &start,
                                         std::span<uint8_t *const> buffers) {
  if (gathers(start))
    return gathered(plan, start, buffers);
  if (start.groups() || start.parts())
    return {inGroups(plan, start, buffers)};
  std::vector<Collective> sums;
  for (const JoinedSum &sum : joinedSums(plan, start))
    sums.push_back({.type = sum.type,
                    .data = buffers.empty() ? nullptr : buffers[sum.buffer],
                    .count = sum.count});
  return sums;
}

} // namespace gradus::runtime
