// Facts are compared as text, those with names that users know first.

#include "tool/train/agreed_run.h"

#include "runtime/flat.h"
#include "runtime/well_known.h"
#include "tool/failure.h"
#include "training/artifact_recipe.h"
#include "training/replicas.h"

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

using namespace gradus::runtime;

namespace gradus::cli {

/// The settings of a recipe: {"optimizer.learning_rate in the recipe", "0.1"}.
static Facts settingsOf(const nlohmann::json &recipe) {
  Facts facts;
  const nlohmann::json settings = recipe.flatten();
  for (const auto &[path, value] : settings.items())
    facts.emplace_back(
        absl::StrCat(
            absl::StrReplaceAll(path.substr(!path.empty()), {{"/", "."}}),
            " in the artifact's recipe"),
        value.dump());
  return facts;
}

void shareArtifact(const Ranks &ranks, Session &session) {
  if (ranks.isAlone())
    return;
  const std::string &path = session.artifact().path();
  if (session.findState(well_known::kRanks) < 0)
    throw badInput(path, ": was compiled for one process, and ", ranks.count(),
                   " run it; compile with --set "
                   "distribution.mode=data_parallel");
  Facts facts = settingsOf(training::recipeOf(session));
  facts.emplace_back("the plan that runs", textOf(session.plan().target()));
  facts.emplace_back("the hash of the artifact",
                     std::to_string(session.artifact().header().header_hash()));
  facts.emplace_back("the version of Gradus", GRADUS_VERSION);
  ranks.agree(facts);
  check(training::copyFromRankZero(session, *ranks.thread()));
}

void agreeOnRun(const Ranks &ranks, const TrainOptions &options,
                const RunFacts &run) {
  if (ranks.isAlone())
    return;
  Facts facts = {
      {"the number of samples to train on",
       std::to_string(run.train.samples())},
      {"the number of samples to test on",
       std::to_string(run.test ? run.test->samples() : 0)},
      {"the part of the samples kept for tests",
       std::to_string(run.validation)},
      {"the seed of the samples' order", std::to_string(run.seed)},
      {"the number of steps", std::to_string(run.steps)},
      {"the number of steps in an epoch", std::to_string(run.perEpoch)},
      {"--eval-every, in steps", std::to_string(run.testEvery)},
      {"--ema", options.test.averaged ? "given" : "not given"},
      {"--set", absl::StrJoin(options.set, " ")},
      {"--debug-nonfinite", options.debugNonfinite ? "given" : "not given"},
      {"--check-replicas", std::to_string(options.checkReplicas)}};
  ranks.agree(facts);
}

} // namespace gradus::cli
