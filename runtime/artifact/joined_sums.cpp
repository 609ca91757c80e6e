// Joins buffers by their offsets.

#include "runtime/artifact/joined_sums.h"

#include "runtime/flat.h"

namespace gradus::runtime {

std::vector<JoinedSum> joinedSums(const artifact::Plan &plan,
                                  const artifact::StartCommand &command) {
  std::vector<JoinedSum> sums;
  uint64_t begin = 0, end = 0; // of the last one, in the arena
  for (size_t i = 0; i < countOf(command.buffers()); ++i) {
    uint32_t number = command.buffers()->Get(i);
    const artifact::Buffer &buffer = *plan.buffers()->Get(number);
    TensorType type = typeOf(buffer.type());
    uint64_t bytes = *bytesOf(type), offset = buffer.offset();
    if (bytes == 0)
      continue;
    bool continues = !sums.empty() && sums.back().type == type.dtype &&
                     offset >= end && offset - end < 64;
    if (!continues) {
      sums.push_back({number, type.dtype, 0});
      begin = offset;
    }
    end = offset + bytes;
    sums.back().count = (end - begin) / bytesOf(type.dtype);
  }
  return sums;
}

template <typename Visit>
static void forEachStart(const artifact::Plan &plan, const Visit &visit) {
  for (unsigned g = 0; g < countOf(plan.graphs()); ++g) {
    const artifact::GraphPlan &graph = *plan.graphs()->Get(g);
    for (unsigned i = 0; i < countOf(graph.commands()); ++i)
      if (const auto *start = graph.commands()->Get(i)->kind_as_StartCommand())
        visit(*start);
  }
}

std::vector<const artifact::RankGroups *> groupsOf(const artifact::Plan &plan) {
  std::vector<const artifact::RankGroups *> groups;
  forEachStart(plan, [&](const artifact::StartCommand &start) {
    if (start.groups())
      groups.push_back(start.groups());
  });
  return groups;
}

bool gathers(const artifact::StartCommand &command) {
  return command.groups() &&
         command.groups()->across() == artifact::Across::gather;
}

Status checkGathered(const artifact::Plan &plan, int64_t ranks) {
  Status status;
  forEachStart(plan, [&](const artifact::StartCommand &start) {
    for (unsigned i = 0; gathers(start) && i < countOf(start.buffers()); ++i) {
      uint32_t number = start.buffers()->Get(i);
      uint64_t bytes = *bytesOf(typeOf(plan.buffers()->Get(number)->type()));
      bool fills =
          bytes % 64 == 0 && bytes / 64 % static_cast<uint64_t>(ranks) == 0;
      if (!fills && status.ok())
        status = invalid("gathers buffer ", number, " of ", bytes,
                         " bytes, expected whole lines of 64 bytes from each "
                         "of ",
                         ranks, " ranks");
    }
  });
  return status;
}

} // namespace gradus::runtime
