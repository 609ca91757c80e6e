// Facts are compared as text, those with names that users know first.

#include "tool/session/shared_artifact.h"

#include "messages/json_text.h"
#include "runtime/artifact/joined_sums.h"
#include "runtime/flat.h"
#include "runtime/session/place.h"
#include "runtime/well_known.h"
#include "tool/failure.h"
#include "tool/text.h"
#include "training/artifact_recipe.h"
#include "training/replicas.h"

#include "absl/strings/str_replace.h"

#include <algorithm>

using namespace gradus::runtime;

namespace gradus::cli {

SessionOptions optionsOfRank(SessionOptions options, const Ranks &ranks) {
  options.threads = ranks.threads(options.threads);
  if (ranks.isFirst())
    return options;
  options.resume.clear();
  options.init.clear();
  options.initMap.clear();
  options.verbose = false;
  return options;
}

std::optional<training::TrainingRecord>
sharedRecord(const Ranks &ranks, const std::string &checkpoint) {
  std::string text;
  if (!checkpoint.empty())
    if (auto record = take(training::TrainingRecord::ofCheckpoint(checkpoint)))
      text = record->text();
  return training::TrainingRecord::parse(ranks.fromFirst(text));
}

/// The settings of a recipe: {"optimizer.learning_rate in the recipe", "0.1"}.
static Facts settingsOf(const nlohmann::json &recipe) {
  Facts facts;
  const nlohmann::json settings = recipe.flatten();
  for (const auto &[path, value] : settings.items())
    facts.emplace_back(
        absl::StrCat(
            absl::StrReplaceAll(path.substr(!path.empty()), {{"/", "."}}),
            " in the artifact's recipe"),
        jsonText(value));
  return facts;
}

data::Deal dealOf(const Ranks &ranks, const Session &session) {
  int64_t turns = session.turns();
  return {ranks.rank() * turns, ranks.count() * turns, turns};
}

std::string ranksText(const Ranks &ranks, const Session &session) {
  if (session.logicalRanks() == 0)
    return ranks.text();
  return absl::StrCat(session.logicalRanks(), " logical ranks on ",
                      ranks.isAlone() ? "1 process" : ranks.text());
}

void checkTrainsOnRanks(const Ranks &ranks, const Session &session) {
  bool isForRanks = session.logicalRanks() > 0 ||
                    session.artifact().header().ranks() > 0 ||
                    session.findState(well_known::kRanks) >= 0;
  if (!ranks.isAlone() && !isForRanks)
    throw badInput(session.artifact().path(),
                   ": was compiled to train on one process, and ",
                   ranks.count(),
                   " run it; compile with --set "
                   "distribution.mode=data_parallel");
  check(at(verifyTrainsOn(session.artifact().header(), session.plan(),
                          ranks.count()),
           session.artifact().path()));
}

void noteOneGroup(const Ranks &ranks, const Session &session) {
  if (ranks.isAlone())
    return;
  auto all = groupsOf(session.plan());
  auto combined = std::ranges::find_if(all, [](const auto *groups) {
    return groups->across() != artifact::Across::nothing;
  });
  if (combined == all.end())
    return;
  int64_t within = (*combined)->within(); // 0: the ranks of a host
  bool isOneGroup = within == 0 ? ranks.neighbours() == ranks.count()
                                : within >= ranks.count();
  bool averages = std::ranges::all_of(all, &artifact::RankGroups::averages);
  if (isOneGroup)
    note(absl::StrCat(
        "distribution.adasum.within is ",
        within == 0 ? "\"host\"" : absl::StrCat(within), ", and all ",
        ranks.count(), " ranks are one such group: they train by its ",
        averages ? "mean" : "sum", ", and AdaSum combines nothing"));
}

void shareArtifact(const Ranks &ranks, Session &session) {
  if (ranks.isAlone())
    return;
  Facts facts = settingsOf(training::recipeOf(session));
  facts.emplace_back("the plan that runs", textOf(session.plan().target()));
  facts.emplace_back("the hash of the artifact",
                     std::to_string(session.artifact().header().header_hash()));
  ranks.agree(facts);
  check(training::copyFromRankZero(session, *ranks.thread()));
}

} // namespace gradus::cli
