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

std::vector<const artifact::RankGroups *> groupsOf(const artifact::Plan &plan) {
  std::vector<const artifact::RankGroups *> groups;
  for (unsigned g = 0; g < countOf(plan.graphs()); ++g) {
    const artifact::GraphPlan &graph = *plan.graphs()->Get(g);
    for (unsigned i = 0; i < countOf(graph.commands()); ++i)
      if (const auto *start = graph.commands()->Get(i)->kind_as_StartCommand();
          start && start->groups())
        groups.push_back(start->groups());
  }
  return groups;
}

} // namespace gradus::runtime
