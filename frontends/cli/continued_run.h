// A resumed run takes its seed and its validation part from the checkpoint; a
// warning or an error says where the command asks for something else.

#pragma once

#include "frontends/cli/train_options.h"
#include "frontends/cli/training_record.h"

namespace gradus::cli {

/// Which part of the data is kept for tests: that of the checkpoint's `record`.
/// Another one would test on samples that have been trained on, and is a
/// Failure.
double partForTests(const TrainOptions &options,
                    const std::optional<TrainingRecord> &record, uint64_t seed);

/// Warnings where seed, number of samples, batch, passes or recipe are not
/// those of the checkpoint.
void warnOfOthers(const TrainingRecord &before, const TrainingRecord &now);

} // namespace gradus::cli
