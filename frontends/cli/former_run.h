// What a run that begins anew finds in its files: the steps of another one,
// which may have taken days and are not written over unasked.

#pragma once

#include "frontends/cli/train_options.h"
#include "frontends/cli/training_record.h"

namespace gradus::cli {

/// What says whether a checkpoint is of the run that is to begin.
struct NewRun {
  std::string program;
  TrainingRecord record; // seed, samples, batch, validation
  int64_t total = 0;     // its last step
};

/// A Failure where this run would replace
///   what is no checkpoint, or one of another run, at --checkpoint,
///   a best state of --best or a --log that goes further than this run will.
/// A checkpoint at the last step of this very run may be replaced: the command
/// was given again. So may all with --overwrite, and the file that --resume
/// goes on from, or that stands beside it.
void checkFormerRun(const TrainOptions &options, const NewRun &run);

} // namespace gradus::cli
