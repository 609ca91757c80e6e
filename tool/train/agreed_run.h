// Compares what must be the same on all ranks before the first step. A
// difference ends the run on all of them, with words that name the rank and the
// fact.

#pragma once

#include "tool/session/ranks.h"
#include "tool/train/train_options.h"
#include "training/data/feed.h"

namespace gradus::cli {

/// The facts of a run that decide what its steps do.
struct RunFacts {
  const data::Feed &train;
  const data::Feed *test; // null: none
  uint64_t seed = 0;
  int64_t steps = 0, perEpoch = 0, testEvery = 0;
  double validation = 0;
};

/// Refuses ranks that would do other steps.
void agreeOnRun(const Ranks &ranks, const TrainOptions &options,
                const RunFacts &run);

/// Gives each rank what it had of its own in a checkpoint that the run goes on
/// from. Rank 0 warns where that were other ranks.
void restoreOwnStates(const Ranks &ranks, runtime::Session &session,
                      const std::string &resume);

} // namespace gradus::cli
