// Facts are compared as text.

#include "tool/train/agreed_run.h"

#include "runtime/well_known.h"
#include "tool/failure.h"

#include "absl/strings/str_join.h"

using namespace gradus::runtime;

namespace gradus::cli {

void checkTrainsOnRanks(const Ranks &ranks, const Session &session) {
  if (!ranks.isAlone() && session.findState(well_known::kRanks) < 0)
    throw badInput(session.artifact().path(),
                   ": was compiled to train on one process, and ",
                   ranks.count(),
                   " run it; compile with --set "
                   "distribution.mode=data_parallel");
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
