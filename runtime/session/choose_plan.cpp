// Asks a device about each plan of its kind.

#include "runtime/session/choose_plan.h"

#include "runtime/flat.h"
#include "runtime/session/devices.h"

namespace gradus::runtime {

namespace {

/// Lists the targets of the plans: "cpu:x86-64-v3, cuda".
std::string targetsOf(const artifact::Header &header) {
  std::string list;
  for (size_t i = 0; i < countOf(header.plans()); ++i)
    append(list, i ? ", " : "", textOf(header.plans()->Get(i)->target()));
  return list;
}

bool hasPlanOfKind(const artifact::Header &header, const std::string &kind) {
  for (size_t i = 0; i < countOf(header.plans()); ++i)
    if (isOfKind(textOf(header.plans()->Get(i)->target()), kind))
      return true;
  return false;
}

/// The plans that may run, by their place in the artifact; empty: all.
using Allowed = std::vector<int64_t>;

StatusOr<const artifact::Plan *> chooseAmong(const artifact::Header &header,
                                             const Device &device,
                                             const Allowed &allowed) {
  const artifact::Plan *best = nullptr;
  std::string refusals;
  for (size_t i = 0; i < countOf(header.plans()); ++i) {
    const artifact::Plan *plan = header.plans()->Get(i);
    std::string target = textOf(plan->target());
    if (!isOfKind(target, device.kind()) || (!allowed.empty() && !allowed[i]))
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

/// The least of each number over the ranks.
Status leastOf(std::vector<int64_t> &numbers, Collectives &ranks) {
  return ranks.finish(ranks.begin({.reduction = Reduction::minimum,
                                   .type = DType::i64,
                                   .data = numbers.data(),
                                   .count = numbers.size()}));
}

} // namespace

StatusOr<std::shared_ptr<Device>> openDeviceFor(const artifact::Header &header,
                                                const std::string &name) {
  auto device = openDevice(name);
  // The CPU is always available; an invalid name is an error of its own.
  if (device.ok() || device.status().code() == StatusCode::invalid ||
      hasPlanOfKind(header, "cuda"))
    return device;
  return invalid("has plans for ", targetsOf(header),
                 ", and none for GPUs: compile it with --target ",
                 name == "emulated" ? "emulated" : "cuda");
}

StatusOr<const artifact::Plan *> choosePlan(const artifact::Header &header,
                                            const Device &device) {
  return chooseAmong(header, device, {});
}

StatusOr<const artifact::Plan *>
chooseCommonPlan(const artifact::Header &header, const Device &device,
                 Collectives &ranks) {
  auto own = choosePlan(header, device);
  if (!own.ok() || ranks.ranks() == 1)
    return own;
  auto plans = static_cast<int64_t>(countOf(header.plans()));
  std::vector<int64_t> counts = {plans, -plans};
  GRADUS_TRY(leastOf(counts, ranks));
  if (counts[0] != -counts[1])
    return own;
  Allowed common;
  for (int64_t i = 0; i < plans; ++i) {
    const artifact::Plan *plan = header.plans()->Get(static_cast<unsigned>(i));
    common.push_back(isOfKind(textOf(plan->target()), device.kind()) &&
                     device.refusal(*plan).empty());
  }
  GRADUS_TRY(leastOf(common, ranks));
  auto best = chooseAmong(header, device, common);
  if (best.ok())
    return best;
  return invalid("has plans for ", targetsOf(header), ", and none that ",
                 device.name(),
                 " and those of all other ranks can run: "
                 "compile it with --target for the oldest of them");
}

} // namespace gradus::runtime
