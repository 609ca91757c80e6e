// What a run finds in its files: the steps of another one, which may have taken
// days and are not written over unasked.

#pragma once

#include "frontends/cli/train_options.h"

namespace gradus::cli {

/// A Failure where a run that begins at step `start` would replace a file of
/// --checkpoint, --best or --keep that is not empty, or the steps of a --log.
/// With --overwrite it may, and where --resume goes on from the file of
/// --checkpoint itself. One that goes on from the best or a kept file beside it
/// may replace no later steps.
void checkFormerRun(const TrainOptions &options, int64_t start);

/// A Failure where a state that is written to the file, as `role` says, would
/// replace another than the one of --resume.
void checkReplaces(const std::string &role, const std::string &path,
                   const std::string &resume);

/// A Failure where the file that results would be written to, as `role` says,
/// holds the state of a training.
void checkHoldsNoState(const std::string &role, const std::string &path);

} // namespace gradus::cli
