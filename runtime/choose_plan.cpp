// Asks a device about each plan of its kind.

#include "runtime/choose_plan.h"

#include "runtime/flat.h"

namespace gradus::runtime {

namespace {

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
  std::string refusals;
  for (size_t i = 0; i < countOf(header.plans()); ++i) {
    const artifact::Plan *plan = header.plans()->Get(i);
    std::string target = textOf(plan->target());
    if (!isOfKind(target, device.kind()))
      continue;
    std::string refusal = device.refusal(*plan);
    if (!refusal.empty())
      append(refusals, refusals.empty() ? "" : "; ", target, " ", refusal);
    else if (!best || plan->tuning_score() > best->tuning_score())
      best = plan;
  }
  if (best)
    return best;
  if (refusals.empty())
    return invalid("has plans for ", targetsOf(header), ", and none for ",
                   device.name(), ": compile it with --target ",
                   device.target());
  return invalid("has no plan that ", device.name(), " can run: ", refusals,
                 ": compile it with --target ", device.target());
}

} // namespace gradus::runtime
