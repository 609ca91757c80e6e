// Says where the parts of a buffer lie, and what a collective is called.

#include "runtime/collectives/collective.h"

#include <algorithm>

namespace gradus::runtime {

bool reduces(const Collective &collective) {
  return collective.op == CollectiveOp::allReduce ||
         collective.op == CollectiveOp::reduceScatter;
}

Status check(const Collective &collective, int ranks) {
  if (reduces(collective) && collective.type == DType::boolean &&
      collective.reduction == Reduction::sum)
    return invalid(inWords(collective), ": booleans have no sum");
  if (collective.op == CollectiveOp::broadcast &&
      (collective.root < 0 || collective.root >= ranks))
    return invalid(inWords(collective), ": expected a root below ", ranks,
                   ", found ", collective.root);
  return {};
}

Range partOf(uint64_t count, DType type, int ranks, int rank) {
  uint64_t unit = 64 / bytesOf(type);
  uint64_t units = count / unit + (count % unit ? 1 : 0);
  auto parts = static_cast<uint64_t>(ranks);
  uint64_t part = (units / parts + (units % parts ? 1 : 0)) * unit;
  uint64_t begin = std::min(count, part * static_cast<uint64_t>(rank));
  return {begin, std::min(count, begin + part)};
}

static const char *nameOf(CollectiveOp op) {
  switch (op) {
  case CollectiveOp::allReduce:
    return "all-reduce";
  case CollectiveOp::reduceScatter:
    return "reduce-scatter";
  case CollectiveOp::allGather:
    return "all-gather";
  case CollectiveOp::broadcast:
    return "broadcast";
  }
  return "";
}

std::string inWords(const Collective &collective) {
  return inWords(nameOf(collective.op), " of ", collective.count, " ",
                 nameOf(collective.type));
}

} // namespace gradus::runtime
