// Asks a device what it lacks for each plan of its kind.

#include "runtime/choose_plan.h"

#include "runtime/flat.h"

namespace gradus::runtime {

namespace {

/// "cpu:x86-64-v3" is of the kind "cpu".
bool isOfKind(const std::string &target, const std::string &kind) {
  return target == kind || target.starts_with(kind + ":");
}

/// "cpu:x86-64-v3, cuda"
std::string targetsOf(const artifact::Header &header) {
  std::string list;
  for (size_t i = 0; i < countOf(header.plans()); ++i)
    append(list, i ? ", " : "", textOf(header.plans()->Get(i)->target()));
  return list;
}

} // namespace

StatusOr<const artifact::Plan *> choosePlan(const artifact::Header &header,
                                            const Device &device) {
  const artifact::Plan *best = nullptr;
  std::string lacks;
  for (size_t i = 0; i < countOf(header.plans()); ++i) {
    const artifact::Plan *plan = header.plans()->Get(i);
    std::string target = textOf(plan->target());
    if (!isOfKind(target, device.kind()))
      continue;
    std::string missing = device.missing(*plan);
    if (!missing.empty())
      append(lacks, lacks.empty() ? "" : "; ", target, " needs ", missing);
    else if (!best || plan->tuning_score() > best->tuning_score())
      best = plan;
  }
  if (best)
    return best;
  if (lacks.empty())
    return invalid("has no plan for ", device.kind(), ", only for ",
                   targetsOf(header));
  return invalid("was compiled for others than ", device.name(),
                 ", which lacks what it needs: ", lacks);
}

} // namespace gradus::runtime
