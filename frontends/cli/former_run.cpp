// A checkpoint says its step, its program and how it was trained; a log its
// last step.

#include "frontends/cli/former_run.h"

#include "frontends/cli/failure.h"
#include "frontends/cli/training_log.h"
#include "runtime/safetensors.h"

#include "absl/strings/numbers.h"

#include <cstdio>
#include <filesystem>

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;

/// Devices and folders have errors of their own, empty files nothing to lose.
bool holdsSomething(const std::string &path) {
  std::error_code none;
  return !path.empty() && fs::is_regular_file(path, none) &&
         fs::file_size(path, none) > 0;
}

struct Former {
  int64_t step = 0;
  std::string program;
  std::optional<TrainingRecord> record;
};

/// Nothing where the file is no checkpoint.
std::optional<Former> formerIn(const std::string &path) {
  auto file = runtime::Safetensors::open(path);
  Former former;
  if (!file.ok() || !file->metadata().contains("step") ||
      !absl::SimpleAtoi(file->metadata().at("step"), &former.step))
    return std::nullopt;
  if (file->metadata().contains("program"))
    former.program = file->metadata().at("program");
  former.record = TrainingRecord::ofCheckpoint(path);
  return former;
}

/// Whether a checkpoint is what this run will end with.
bool isSameRun(const Former &former, const NewRun &run) {
  return former.step == run.total && former.program == run.program &&
         former.record && former.record->seed == run.record.seed &&
         former.record->samples == run.record.samples &&
         former.record->batch == run.record.batch &&
         former.record->validation == run.record.validation;
}

void checkCheckpoint(const std::string &path, const NewRun &run) {
  if (!holdsSomething(path))
    return;
  std::optional<Former> former = formerIn(path);
  if (!former)
    throw badInput("--checkpoint ", path,
                   ": is there and is no checkpoint of training; write to "
                   "another file, or replace it with --overwrite");
  if (former->step == 0)
    return;
  if (!isSameRun(*former, run))
    throw badInput("--checkpoint ", path, ": holds step ", former->step,
                   " of a run that this one would begin anew; go on from it "
                   "with --resume ",
                   path,
                   ", write to another file, or replace it with --overwrite");
  std::fprintf(stderr,
               "note: %s: the same run, at its last step %lld, is "
               "trained anew\n",
               path.c_str(), static_cast<long long>(former->step));
}

void checkBest(const std::string &path, const NewRun &run) {
  std::optional<Former> former =
      holdsSomething(path) ? formerIn(path) : std::nullopt;
  if (former && former->step > run.total)
    throw badInput("--best ", path, ": holds step ", former->step,
                   " of another run, and this one has ", run.total,
                   "; write to another --checkpoint, or replace it with "
                   "--overwrite");
}

void checkLog(const std::string &path, const NewRun &run) {
  int64_t last = holdsSomething(path) ? TrainingLog::lastStepOf(path) : 0;
  if (last > run.total)
    throw badInput("--log ", path, ": has the figures of ", last,
                   " steps, and this run has ", run.total,
                   "; write to another file, or replace it with --overwrite");
}

/// Whether the run goes on from this file, or from one beside it.
bool goesOnFrom(const std::string &checkpoint, const std::string &resume) {
  std::error_code none;
  return !resume.empty() && !checkpoint.empty() &&
         (fs::equivalent(checkpoint, resume, none) ||
          fs::equivalent(siblingPath(checkpoint, "best"), resume, none) ||
          isKeptName(resume, checkpoint));
}

} // namespace

void checkFormerRun(const TrainOptions &options, const NewRun &run) {
  const std::string &checkpoint = options.checkpoint.path,
                    &resume = options.session.resume;
  if (options.overwrite || goesOnFrom(checkpoint, resume))
    return;
  checkCheckpoint(checkpoint, run);
  if (!options.best.empty() && !checkpoint.empty())
    checkBest(siblingPath(checkpoint, "best"), run);
  if (resume.empty())
    checkLog(options.log, run);
}

} // namespace gradus::cli
