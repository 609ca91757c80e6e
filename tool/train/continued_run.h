// A resumed run uses the seed and the validation part of the checkpoint; a
// warning or an error reports where the command asks for others.

#pragma once

#include "tool/train/train_options.h"
#include "training/training_record.h"

namespace gradus::cli {

using training::TrainingRecord;

/// The part of the data that is kept for tests, as in the checkpoint's
/// `record`. Another part would test on samples that were trained on, and is a
/// Failure.
double partForTests(const TrainOptions &options,
                    const std::optional<TrainingRecord> &record, uint64_t seed);

/// Warns if seed, number of samples, batch, passes or recipe differ from the
/// checkpoint's.
void warnOfOthers(const TrainingRecord &before, const TrainingRecord &now);

} // namespace gradus::cli
