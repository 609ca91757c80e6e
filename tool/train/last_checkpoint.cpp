// Ranks save at the same step, which rank 0 alone does: what it decides at the
// next border says that it has done so.

#include "tool/train/last_checkpoint.h"

#include "runtime/safetensors.h"
#include "runtime/well_known.h"
#include "tool/command_line.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <filesystem>

using namespace gradus::runtime;

namespace gradus::cli {

LastCheckpoint::LastCheckpoint(std::string path, const std::string &resumed)
    : path_(std::move(path)), resumed_(resumed) {
  std::error_code none;
  goesOn_ = isKept() && (resumed == path_ ||
                         std::filesystem::equivalent(resumed, path_, none));
}

void LastCheckpoint::begin(int64_t step) {
  if (goesOn_)
    begun_ = written_ = step;
}

Status LastCheckpoint::onPiece(const training::PieceReport &) {
  written_ = begun_;
  return {};
}

Status LastCheckpoint::onSave(const training::SaveReport &report) {
  written_ = begun_;
  if (isKept() && report.kind != training::SaveKind::best)
    begun_ = report.step;
  return {};
}

/// The step of the file, if it is one that this run has begun to write, or goes
/// on from.
std::optional<int64_t> LastCheckpoint::stepOfFile() const {
  int64_t step = 0;
  auto file = Safetensors::open(path_);
  if (!file.ok() || !(begun_ || goesOn_))
    return std::nullopt;
  auto found = file->metadata().find(well_known::kStep);
  if (found == file->metadata().end() ||
      !absl::SimpleAtoi(found->second, &step))
    return std::nullopt;
  if (begun_ && (step > *begun_ || step < written_.value_or(*begun_)))
    return std::nullopt;
  return step;
}

std::string LastCheckpoint::advice() const {
  if (!isKept())
    return "; nothing was saved, since the run keeps no checkpoint";
  std::optional<int64_t> step = stepOfFile();
  if (!step)
    step = written_;
  if (!step && !resumed_.empty())
    return absl::StrCat("; nothing was saved since ", resumed_);
  if (!step)
    return "; nothing was saved yet";
  return absl::StrCat("; the last checkpoint is ", path_, " of step ", *step,
                      "; ", resumeAdvice(path_));
}

} // namespace gradus::cli
