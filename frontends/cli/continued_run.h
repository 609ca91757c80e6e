// What a run takes over from the checkpoint that it goes on from, and what is
// said where it is given something else.

#pragma once

#include "frontends/cli/train_options.h"
#include "frontends/cli/training_record.h"

namespace gradus::cli {

/// Which part of the data is kept for tests: that of the checkpoint's `record`.
/// Another one would test on samples that have been trained on, and is a
/// Failure.
double partForTests(const TrainOptions &options,
                    const std::optional<TrainingRecord> &record, uint64_t seed);

/// Warnings where seed, number of samples, batch or passes are not those of
/// the checkpoint.
void warnOfOthers(const TrainingRecord &before, const TrainingRecord &now);

} // namespace gradus::cli
