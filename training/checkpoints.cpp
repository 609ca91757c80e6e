// Every file is first written beside its name and then renamed; one
// that is kept is another name of the newest, so it needs no second write.

#include "training/checkpoints.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

using Clock = std::chrono::steady_clock;

namespace gradus::training {

std::optional<Interval> Interval::parse(const std::string &text) {
  size_t digits = text.find_first_not_of("0123456789.");
  std::string unit = digits == std::string::npos ? "" : text.substr(digits);
  Interval interval;
  if (!absl::SimpleAtod(text.substr(0, digits), &interval.count) ||
      !std::isfinite(interval.count))
    return std::nullopt;
  struct Name {
    const char *name;
    Unit unit;
    double factor;
  };
  constexpr Name kNames[] = {
      {"", Unit::seconds, 1},      {"s", Unit::seconds, 1},
      {"min", Unit::seconds, 60},  {"h", Unit::seconds, 3600},
      {"steps", Unit::steps, 1},   {"step", Unit::steps, 1},
      {"epochs", Unit::epochs, 1}, {"epoch", Unit::epochs, 1}};
  for (const Name &name : kNames)
    if (unit == name.name) {
      interval.unit = name.unit;
      interval.count *= name.factor;
      bool whole =
          interval.count == std::floor(interval.count) && interval.count >= 1;
      return name.unit == Unit::seconds || whole ? std::optional(interval)
                                                 : std::nullopt;
    }
  return std::nullopt;
}

int64_t Interval::steps(int64_t perEpoch) const {
  double all =
      count * (unit == Unit::epochs ? static_cast<double>(perEpoch) : 1);
  return static_cast<int64_t>(std::min(all, 9e18));
}

/// The position of the extension, or the end.
static size_t stemSize(const std::string &path) {
  size_t name = path.rfind('/') + 1, dot = path.rfind('.');
  return dot == std::string::npos || dot <= name ? path.size() : dot;
}

std::string siblingPath(const std::string &path, const std::string &word) {
  size_t stem = stemSize(path);
  return path.substr(0, stem) + "." + word + path.substr(stem);
}

static runtime::FileHold *at(std::optional<runtime::FileHold> &hold) {
  return hold ? &*hold : nullptr;
}

runtime::StatusOr<HeldCheckpoints>
holdCheckpoints(const CheckpointOptions &options, bool best) {
  HeldCheckpoints held;
  if (options.path.empty())
    return held;
  GRADUS_ASSIGN(held.newest, runtime::FileHold::take(options.path));
  if (best) {
    GRADUS_ASSIGN(held.best,
                  runtime::FileHold::take(siblingPath(options.path, "best")));
  }
  return held;
}

Checkpoints::Checkpoints(const runtime::Session &session,
                         const CheckpointOptions &options, int64_t perEpoch,
                         HeldCheckpoints held, Tell tell)
    : session_(&session), options_(options), held_(std::move(held)),
      tell_(std::move(tell)),
      every_(Interval::parse(options.every).value_or(Interval())),
      perEpoch_(perEpoch), saved_(Clock::now()) {}

runtime::StatusOr<Checkpoints>
Checkpoints::create(const runtime::Session &session,
                    const CheckpointOptions &options, int64_t perEpoch,
                    HeldCheckpoints held, Tell tell) {
  Checkpoints made(session, options, perEpoch, std::move(held),
                   std::move(tell));
  if (!options.path.empty())
    GRADUS_TRY(made.tryFile());
  return made;
}

/// Finds out whether the file can be written.
runtime::Status Checkpoints::tryFile() {
  auto &newest = held_.newest;
  auto file = runtime::AtomicFile::create(options_.path, at(newest));
  if (!file.ok())
    return fail(
        {file.status().code(), file.status().message() + options_.advice},
        false);
  if (newest && !newest->weakness().empty())
    tellIf(tell_, Remark::warning,
           absl::StrCat(options_.path, ": cannot be locked (",
                        newest->weakness(),
                        "): nothing keeps another run from writing it"));
  return {};
}

int64_t Checkpoints::stepsUntilDue(int64_t done) const {
  if (options_.path.empty() || every_.unit == Interval::Unit::seconds)
    return std::numeric_limits<int64_t>::max();
  int64_t steps = every_.steps(perEpoch_);
  return steps - done % steps;
}

bool Checkpoints::isDue(int64_t done) const {
  if (options_.path.empty())
    return false;
  if (every_.unit != Interval::Unit::seconds)
    return done % every_.steps(perEpoch_) == 0;
  return std::chrono::duration<double>(Clock::now() - saved_).count() >=
         every_.count;
}

runtime::Status Checkpoints::fail(const runtime::Status &failure,
                                  bool last) const {
  if (last || !options_.goOn)
    return failure;
  tellIf(tell_, Remark::warning, failure.message() + "; training goes on");
  return {};
}

void Checkpoints::goOnFrom(const std::string &file, int64_t step) {
  std::error_code none;
  if (std::filesystem::equivalent(file, options_.path, none))
    newest_ = step;
}

std::string Checkpoints::stillThere() const {
  std::error_code none;
  if (!newest_ || !std::filesystem::exists(options_.path, none))
    return "";
  return absl::StrCat("; the checkpoint of step ", *newest_, " is still there");
}

runtime::Status Checkpoints::write(const SaveReport &report) {
  runtime::Status status = session_->saveCheckpoint(
      options_.path, report.notes, at(held_.newest), report.others);
  if (!status.ok())
    return status;
  newest_ = report.step;
  if (options_.keep == 0)
    return status;
  std::string numbered =
      siblingPath(options_.path, absl::StrCat("step", report.step));
  // Without hard links, two files are written.
  if (!runtime::linkFile(options_.path, numbered).ok())
    status = session_->saveCheckpoint(numbered, report.notes, nullptr,
                                      report.others);
  prune(report.step);
  return status;
}

runtime::Status Checkpoints::onSave(const SaveReport &report) {
  if (options_.path.empty())
    return {};
  bool isBest = report.kind == SaveKind::best;
  runtime::Status status =
      isBest ? session_->saveCheckpoint(siblingPath(options_.path, "best"),
                                        report.notes, at(held_.best),
                                        report.others)
             : write(report);
  if (isBest)
    best_ = status;
  else
    saved_ = Clock::now();
  if (status.ok())
    return {};
  return fail(runtime::failed(status.message(), stillThere()), report.isLast());
}

runtime::Status Checkpoints::onFailedStep(const runtime::Status &why) {
  return {why.code(), why.message() + stillThere()};
}

runtime::Status Checkpoints::finish() const {
  if (best_.ok())
    return {};
  return runtime::failed(best_.message(), "; the best state was not kept");
}

/// The step in "lenet.step440.safetensors"; nothing for other names.
static std::optional<int64_t> stepOf(const std::string &name,
                                     const std::string &path) {
  size_t stem = stemSize(path);
  std::string
      before = std::filesystem::path(path.substr(0, stem)).filename().string() +
               ".step",
      after = path.substr(stem);
  int64_t step = 0;
  if (name.size() <= before.size() + after.size() ||
      !name.starts_with(before) || !name.ends_with(after))
    return std::nullopt;
  std::string digits =
      name.substr(before.size(), name.size() - before.size() - after.size());
  if (digits.find_first_not_of("0123456789") != std::string::npos ||
      !absl::SimpleAtoi(digits, &step))
    return std::nullopt;
  return step;
}

bool isKeptName(const std::string &file, const std::string &checkpoint) {
  namespace fs = std::filesystem;
  std::error_code none;
  auto folderOf = [&](const std::string &path) {
    return fs::weakly_canonical(fs::absolute(path, none).parent_path(), none);
  };
  std::string real =
      fs::weakly_canonical(fs::absolute(file, none), none).string();
  for (const std::string &path : {file, real})
    if (stepOf(fs::path(path).filename().string(), checkpoint) &&
        folderOf(path) == folderOf(checkpoint))
      return true;
  return false;
}

std::vector<std::pair<int64_t, std::filesystem::path>>
keptFiles(const std::string &checkpoint) {
  namespace fs = std::filesystem;
  fs::path folder = fs::path(checkpoint).parent_path();
  std::error_code none;
  std::vector<std::pair<int64_t, fs::path>> kept;
  for (const auto &entry :
       fs::directory_iterator(folder.empty() ? "." : folder, none))
    if (auto step = stepOf(entry.path().filename().string(), checkpoint))
      kept.emplace_back(*step, entry.path());
  return kept;
}

/// Removes all but the last files up to this step. Files of later steps are of
/// an earlier run that this one resumed before them: it will get there.
void Checkpoints::prune(int64_t done) const {
  auto kept = keptFiles(options_.path);
  std::erase_if(kept, [&](const auto &file) { return file.first > done; });
  std::sort(kept.rbegin(), kept.rend());
  for (size_t i = options_.keep; i < kept.size(); ++i)
    (void)runtime::removeFile(kept[i].second); // a failure leaves it
}

} // namespace gradus::training
