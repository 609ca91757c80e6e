// A checkpoint has its step, a log its last one.

#include "tool/train/former_run.h"

#include "runtime/safetensors.h"
#include "runtime/well_known.h"
#include "tool/failure.h"
#include "training/training_log.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <filesystem>

namespace gradus::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char *kWaysOut =
    "write to another file, or replace it with --overwrite";
/// The ways out for the file beside the artifact, which nobody has named.
constexpr const char *kWaysOutUnasked =
    "write to another file with --checkpoint FILE, replace it with "
    "--overwrite, or keep nothing with --no-checkpoint";

/// Devices and folders have errors of their own, and empty files nothing to
/// lose.
bool holdsSomething(const std::string &path) {
  std::error_code none;
  return !path.empty() && fs::is_regular_file(path, none) &&
         fs::file_size(path, none) > 0;
}

/// The step of a checkpoint; nothing for other files.
std::optional<int64_t> stepIn(const std::string &path) {
  auto file = runtime::Safetensors::open(path);
  int64_t step = 0;
  if (!file.ok() || !file->metadata().contains(well_known::kStep) ||
      !absl::SimpleAtoi(file->metadata().at(well_known::kStep), &step))
    return std::nullopt;
  return step;
}

/// Refuses files that are not of a training, and steps after `from`.
void checkFile(const std::string &role, const std::string &path, int64_t from,
               const char *waysOut = kWaysOut) {
  if (!holdsSomething(path))
    return;
  std::optional<int64_t> step = stepIn(path);
  if (!step)
    throw badInput(role, " ", path,
                   ": is there and is no checkpoint of training; ", waysOut);
  if (*step > from)
    throw badInput(role, " ", path, ": holds step ", *step,
                   " of a former run; go on from it with --resume ", path, ", ",
                   waysOut);
}

void checkLog(const std::string &path, int64_t from, bool resumes) {
  int64_t last =
      holdsSomething(path) ? training::TrainingLog::lastStepOf(path) : 0;
  if (last <= from)
    return;
  std::string begin = resumes ? absl::StrCat("goes on from step ", from)
                              : std::string("begins anew");
  throw badInput("--log ", path, ": has the figures of ", last,
                 " steps, and this run ", begin, "; ", kWaysOut);
}

bool isSame(const std::string &path, const std::string &other) {
  std::error_code none;
  return fs::equivalent(path, other, none);
}

} // namespace

void checkFormerRun(const TrainOptions &options, int64_t start) {
  const std::string &checkpoint = options.checkpoint.path,
                    &resume = options.session.resume;
  bool resumes = !resume.empty();
  if (options.overwrite || (resumes && isSame(checkpoint, resume)))
    return;
  checkLog(options.log, resumes ? start : 0, resumes);
  if (checkpoint.empty())
    return;
  std::string best = training::siblingPath(checkpoint, "best");
  // Files beside the one that it resumes from are of the same run.
  bool isBeside = resumes && (isSame(best, resume) ||
                              training::isKeptName(resume, checkpoint));
  int64_t from = isBeside ? start : -1;
  checkFile(roleOf(options.checkpoint), checkpoint, from,
            options.checkpoint.isUnasked ? kWaysOutUnasked : kWaysOut);
  if (!options.test.best.empty())
    checkFile("--best", best, from);
  if (options.checkpoint.keep > 0 && !isBeside)
    for (const auto &[step, path] : training::keptFiles(checkpoint))
      checkFile("--keep", path, from);
}

void checkReplaces(const std::string &role, const std::string &path,
                   const std::string &resume) {
  if (resume.empty() || !isSame(path, resume))
    checkFile(role, path, -1);
}

void checkHoldsNoState(const std::string &role, const std::string &path) {
  if (!holdsSomething(path))
    return;
  if (std::optional<int64_t> step = stepIn(path))
    throw badInput(role, " ", path,
                   ": is the checkpoint of a training, of step ", *step,
                   "; write to another file");
}

} // namespace gradus::cli
