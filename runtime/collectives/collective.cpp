// Says where the parts of a buffer lie, and what a collective is called.

#include "runtime/collectives/collective.h"

#include <algorithm>

namespace gradus::runtime {

bool reduces(const Collective &collective) {
  return collective.op == CollectiveOp::allReduce ||
         collective.op == CollectiveOp::reduceScatter;
}

static Status checkGroups(const Collective &collective, int ranks) {
  if (!collective.groups)
    return invalid(inWords(collective), ": there are no groups");
  const Groups &groups = *collective.groups;
  if (groups.parts != Parts::reduceAndGather)
    return groups.across == Across::nothing && groups.within >= ranks
               ? Status()
               : invalid(inWords(collective),
                         ": expected parts of all ranks in one group");
  if (collective.type != DType::f32 && collective.type != DType::f64)
    return invalid(inWords(collective), ": expected f32 or f64");
  return checkWithin(collective.groups->within, ranks);
}

Status checkWithin(int within, int ranks) {
  if (within > 0 && ranks > within && ranks % within)
    return invalid(ranks, " ranks are no groups of ", within,
                   ", which adasum.within says; run it on a multiple of ",
                   within,
                   ", or compile it with --set "
                   "distribution.adasum.within=1");
  return {};
}

Status check(const Collective &collective, int ranks) {
  if (reduces(collective) && collective.type == DType::boolean &&
      collective.reduction == Reduction::sum)
    return invalid(inWords(collective), ": booleans have no sum");
  if (collective.op == CollectiveOp::broadcast &&
      (collective.root < 0 || collective.root >= ranks))
    return invalid(inWords(collective), ": expected a root below ", ranks,
                   ", found ", collective.root);
  if (collective.op == CollectiveOp::groupReduce)
    return checkGroups(collective, ranks);
  return {};
}

Range partOf(uint64_t count, DType type, int ranks, int rank) {
  return partInUnits(count, 64 / bytesOf(type), ranks, rank);
}

Range partInUnits(uint64_t count, uint64_t unit, int ranks, int rank) {
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
  case CollectiveOp::groupReduce:
    return "AdaSum";
  }
  return "";
}

std::string inWords(const Collective &collective) {
  const char *name = nameOf(collective.op);
  if (collective.groups && collective.groups->across == Across::nothing)
    name = collective.groups->parts == Parts::reduce   ? "sum of parts"
           : collective.groups->parts == Parts::gather ? "gathering"
                                                       : "sum in groups";
  return inWords(name, " of ", collective.count, " ", nameOf(collective.type));
}

} // namespace gradus::runtime
