// Every file is first written beside its name and then renamed; a file of
// --keep is another name of the newest, so it needs no second write.

#include "tool/train/checkpoints.h"

#include "tool/failure.h"
#include "tool/text.h"

#include "absl/strings/numbers.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

using Clock = std::chrono::steady_clock;

namespace gradus::cli {

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

HeldCheckpoints holdCheckpoints(const CheckpointOptions &options, bool best) {
  HeldCheckpoints held;
  if (options.path.empty())
    return held;
  auto hold = [](const std::string &path) {
    auto taken = runtime::FileHold::take(path);
    if (!taken.ok())
      check(runtime::Status(taken.status().code(),
                            taken.status().message() +
                                "; wait until that has ended, or give this run "
                                "another --checkpoint"));
    return *std::move(taken);
  };
  held.newest.emplace(hold(options.path));
  if (best)
    held.best.emplace(hold(siblingPath(options.path, "best")));
  return held;
}

std::string defaultCheckpoint(const std::string &artifact) {
  std::string_view stem = artifact;
  if (stem.ends_with(".gradus"))
    stem.remove_suffix(std::string_view(".gradus").size());
  return std::string(stem) + ".safetensors";
}

std::string roleOf(const CheckpointOptions &options) {
  return options.isUnasked ? "--checkpoint (not given: beside the artifact)"
                           : "--checkpoint";
}

Checkpoints::Checkpoints(const runtime::Session &session,
                         const CheckpointOptions &options, int64_t perEpoch,
                         HeldCheckpoints held)
    : session_(session), options_(options), held_(std::move(held)),
      every_(Interval::parse(options.every).value_or(Interval())),
      perEpoch_(perEpoch), saved_(Clock::now()) {
  if (options_.path.empty())
    return;
  auto file = runtime::AtomicFile::create(options_.path, at(held_.newest));
  const char *wayOut = options_.isUnasked
                           ? "; the state is kept beside the artifact unless "
                             "--checkpoint FILE names another place, or "
                             "--no-checkpoint says that none is wanted"
                           : "";
  if (!file.ok())
    fail(Failure(failureOf(file.status()).code,
                 file.status().message() + wayOut),
         false);
  else if (held_.newest && !held_.newest->weakness().empty())
    warn(absl::StrCat(options_.path, ": cannot be locked (",
                      held_.newest->weakness(),
                      "): nothing keeps another run from writing it"));
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

void Checkpoints::fail(const Failure &failure, bool last) const {
  if (last || !options_.goOn)
    throw failure;
  warn(absl::StrCat(failure.what(), "; training goes on"));
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

runtime::Status Checkpoints::write(int64_t done, const Notes &notes) {
  runtime::Status status =
      session_.saveCheckpoint(options_.path, notes, at(held_.newest));
  if (!status.ok())
    return status;
  newest_ = done;
  if (options_.keep == 0)
    return status;
  std::string numbered = siblingPath(options_.path, absl::StrCat("step", done));
  // Without hard links, two files are written.
  if (!runtime::linkFile(options_.path, numbered).ok())
    status = session_.saveCheckpoint(numbered, notes);
  prune(done);
  return status;
}

void Checkpoints::save(int64_t done, const Notes &notes, bool last) {
  if (options_.path.empty())
    return;
  runtime::Status status = write(done, notes);
  saved_ = Clock::now();
  if (!status.ok())
    fail(failed(status.message(), stillThere()), last);
}

void Checkpoints::saveBest(const Notes &notes) {
  if (options_.path.empty())
    return;
  best_ = session_.saveCheckpoint(siblingPath(options_.path, "best"), notes,
                                  at(held_.best));
  if (!best_.ok())
    fail(failed(best_.message(), stillThere()), false);
}

void Checkpoints::finish() const {
  if (!best_.ok())
    throw failed(best_.message(), "; the best state was not kept");
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

} // namespace gradus::cli
