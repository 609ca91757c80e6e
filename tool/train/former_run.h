// Protects the results of earlier runs, which may have taken days, from being
// overwritten by mistake.

#pragma once

#include "tool/train/train_options.h"

namespace gradus::cli {

/// Throws a Failure if a run that starts at step `start` would replace a
/// non-empty file of --checkpoint, --best or --keep, or the steps of a --log.
/// It may with --overwrite, and if --resume continues from the file of
/// --checkpoint itself. A run that resumes from the best or a kept file beside
/// it may not replace later steps.
void checkFormerRun(const TrainOptions &options, int64_t start);

/// Throws a Failure if a state written to the file, named `role` in errors,
/// would replace another than that of --resume.
void checkReplaces(const std::string &role, const std::string &path,
                   const std::string &resume);

/// Throws a Failure if the file for results, named `role` in errors, holds the
/// state of a training.
void checkHoldsNoState(const std::string &role, const std::string &path);

} // namespace gradus::cli
