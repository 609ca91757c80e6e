// Facts are compared as text.

#include "tool/train/agreed_run.h"

#include "tool/evaluate/shared_data.h"
#include "tool/text.h"
#include "training/rank_states.h"

#include "absl/strings/str_join.h"

using namespace gradus::runtime;

namespace gradus::cli {

void agreeOnRun(const Ranks &ranks, const TrainOptions &options,
                const RunFacts &run) {
  if (ranks.isAlone())
    return;
  Facts facts = factsOf(run.train, "samples to train on");
  for (const auto &fact :
       run.test ? factsOf(*run.test, "samples to test on") : Facts())
    facts.push_back(fact);
  const Facts others = {
      {"the part of the samples kept for tests",
       std::to_string(run.validation)},
      {"the seed of the samples' order", std::to_string(run.seed)},
      {"the number of steps", std::to_string(run.steps)},
      {"the number of steps in an epoch", std::to_string(run.perEpoch)},
      {"--eval-every, in steps", std::to_string(run.testEvery)},
      {"--ema", options.test.averaged ? "given" : "not given"},
      {"--set", absl::StrJoin(options.set, " ")},
      {"--debug-nonfinite", options.debugNonfinite ? "given" : "not given"},
      {"--check-replicas", std::to_string(options.ranks.checkReplicas)}};
  facts.insert(facts.end(), others.begin(), others.end());
  ranks.agree(facts);
}

void restoreOwnStates(const Ranks &ranks, Session &session,
                      const std::string &resume) {
  std::string remark =
      take(ranks.isAlone()
               ? training::remarkAlone(session, resume)
               : training::restoreRankStates(session, *ranks.thread(), resume));
  if (!remark.empty() && ranks.isFirst())
    warn(remark);
}

} // namespace gradus::cli
