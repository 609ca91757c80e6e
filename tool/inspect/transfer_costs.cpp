// Buckets are those of buckets.cpp, in the same order.

#include "tool/inspect/transfer_costs.h"

#include "runtime/artifact/joined_sums.h"
#include "runtime/collectives/rounds.h"
#include "runtime/commands/begun_collectives.h"
#include "runtime/flat.h"
#include "runtime/session/place.h"
#include "runtime/session/variants.h"
#include "runtime/well_known.h"
#include "tool/network.h"
#include "tool/text.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <set>

using namespace gradus::runtime;
using nlohmann::ordered_json;

namespace gradus::cli {
namespace {

/// The bytes that rank 0 sends, and the seconds of it. No other sends more.
struct Transfer {
  uint64_t bytes = 0;
  double seconds = 0;

  void operator+=(const Transfer &other) {
    bytes += other.bytes;
    seconds += other.seconds;
  }
  void addTo(ordered_json &json) const {
    json["bytes_sent"] = bytes;
    json["ms_transferred"] = seconds * 1e3;
  }
};

Transfer transferOf(const artifact::Plan &plan,
                    const artifact::StartCommand &start,
                    const SummingRanks &ranks) {
  int count = static_cast<int>(ranks.count);
  Transfer all;
  for (const Collective &collective : begunCollectives(plan, start)) {
    std::chrono::duration<double> time =
        allReduceTime(ranks.network, collective, count);
    all += {bytesSent(collective, count, 0), time.count()};
  }
  return all;
}

/// The variants of a step that no process runs, if so many share the logical
/// ranks.
std::set<uint32_t> idleVariants(const artifact::Header &header,
                                const Place &place) {
  std::set<uint32_t> idle;
  for (unsigned i = 0; i < countOf(header.schedules()); ++i) {
    Variants variants = variantsOf(*header.schedules()->Get(i));
    if (variants.counterName != well_known::kTurn)
      continue;
    idle.insert(variants.graphs.begin(), variants.graphs.end());
    for (int64_t turn = 0; turn < place.turns(); ++turn)
      idle.erase(
          static_cast<uint32_t>(variants.graphAt(place.turns() - 1 + turn)));
  }
  return idle;
}

/// Adds the costs of a graph; returns whether it has sums.
bool addToGraph(ordered_json &graph, const artifact::Plan &plan,
                const artifact::GraphPlan &commands,
                const SummingRanks &ranks) {
  if (!graph.contains("buckets"))
    return false;
  Transfer all;
  size_t bucket = 0;
  for (unsigned i = 0; i < countOf(commands.commands()); ++i)
    if (const auto *start =
            commands.commands()->Get(i)->kind_as_StartCommand()) {
      Transfer transfer = transferOf(plan, *start, ranks);
      transfer.addTo(graph["buckets"][bucket++]);
      all += transfer;
    }
  all.addTo(graph["sums"]);
  return true;
}

} // namespace

void addTransferCosts(ordered_json &facts, const Artifact &artifact,
                      const SummingRanks &ranks) {
  const artifact::Header &header = artifact.header();
  auto place = placeOf(header, 0, ranks.count);
  check(at(place.status(), artifact.path()));
  std::set<uint32_t> idle;
  if (place->logicalRanks > 0)
    idle = idleVariants(header, *place);
  bool sums = false;
  for (unsigned p = 0; p < countOf(header.plans()); ++p) {
    const artifact::Plan &plan = *header.plans()->Get(p);
    check(at(verifyTrainsOn(header, plan, ranks.count), artifact.path()));
    for (unsigned g = 0; g < countOf(plan.graphs()); ++g)
      if (const auto &graph = *plan.graphs()->Get(g);
          !idle.contains(graph.graph()))
        sums |= addToGraph(facts["plans"][p]["graphs"][g], plan, graph, ranks);
  }
  if (!sums)
    throw sumsNothing(artifact.path());
  facts["network"] = {{"ranks", ranks.count}};
  facts["network"].update(networkJson(ranks.network));
  for (unsigned p = 0; p < countOf(header.plans()); ++p)
    if (isGroupedByHost(*header.plans()->Get(p)))
      facts["network"]["hosts"] = 1;
}

bool isGroupedByHost(const artifact::Plan &plan) {
  return std::ranges::any_of(
      groupsOf(plan), [](const auto *groups) { return groups->within() == 0; });
}

Failure sumsNothing(const std::string &path) {
  return badInput(path,
                  ": sums nothing over ranks, so it uses no network; compile "
                  "with --set distribution.mode=data_parallel");
}

std::string textOfNetwork(const ordered_json &network) {
  return absl::StrCat(network["ranks"].get<int64_t>(), " ranks at ",
                      networkText(network));
}

std::string textOfTransfers(const ordered_json &sums) {
  return absl::StrCat("The busiest rank sends ",
                      bytesText(sums["bytes_sent"].get<double>()), " in all; ",
                      durationText(sums["ms_transferred"].get<double>() * 1e-3),
                      " under way, one bucket after the other.");
}

} // namespace gradus::cli
