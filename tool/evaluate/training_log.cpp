// Writes one JSON object a line to the log: {"step": ...} and {"epoch": ...}.

#include "tool/evaluate/training_log.h"

#include "messages/json_text.h"
#include "messages/printable.h"
#include "tool/failure.h"
#include "tool/text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

using nlohmann::ordered_json;

namespace gradus::cli {

ordered_json toJson(const std::vector<Metric> &metrics) {
  ordered_json object = ordered_json::object();
  for (const Metric &metric : metrics)
    object[metric.name] = metric.value;
  return object;
}

/// The step in a line of a log; lines of epochs have one, too. Nothing if the
/// line is not of a log.
static std::optional<int64_t> stepOf(const std::string &line) {
  auto object = nlohmann::json::parse(line, nullptr,
                                      /*allow_exceptions=*/false);
  for (const char *key : {"step", "epoch"})
    if (!object.is_object() || !object.contains(key) ||
        !object[key].is_number_integer())
      return std::nullopt;
  return object["step"].get<int64_t>();
}

/// Whether an unfinished line may be the beginning of a log's line.
static bool isCutLine(const std::string &line) {
  for (std::string begin : {"{\"step\":", "{\"epoch\":"})
    if (line.substr(0, begin.size()) == begin.substr(0, line.size()))
      return true;
  return false;
}

static bool isEpochLine(const std::string &line) {
  return line.starts_with("{\"epoch\":");
}

namespace {

/// The part of a log that stays when a run continues it.
struct Kept {
  uintmax_t bytes = 0;
  int64_t step = 0; // the last one
  int64_t firstMissing = 0, lastMissing = 0;

  void add(int64_t next) {
    lookForGap(next);
    step = std::max(step, next);
  }
  void lookForGap(int64_t next) {
    if (next <= step + 1)
      return;
    firstMissing = firstMissing ? firstMissing : step + 1;
    lastMissing = next - 1;
  }
};

} // namespace

/// Finds the whole lines of a log of steps up to `last`, except the line of the
/// epoch that is `inside`. A file that is not a log must not be overwritten.
static Kept keptOf(const std::string &path, int64_t last, bool inside) {
  std::ifstream file(path, std::ios::binary);
  Kept kept;
  bool over = false;
  int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::optional<int64_t> step = stepOf(line);
    bool whole = !file.eof();
    if (!step && (whole || !isCutLine(line)))
      throw badInput("--log ", path, ": line ", number,
                     " is none of a training log; write to another file, or "
                     "remove this one");
    if (number == 1 && step) // The log of a resumed run begins late.
      kept.step = std::max<int64_t>(*step, 1) - 1;
    over |= !step || !whole || *step > last ||
            (inside && *step == last && isEpochLine(line));
    if (over)
      continue;
    kept.bytes += line.size() + 1;
    kept.add(*step);
  }
  kept.lookForGap(last + 1);
  return kept;
}

int64_t TrainingLog::lastStepOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  int64_t last = 0;
  for (std::string line; std::getline(file, line);)
    last = std::max(last, stepOf(line).value_or(0));
  return last;
}

TrainingLog::TrainingLog(const std::string &path, std::optional<int64_t> from,
                         bool json, const std::string &events, bool inside)
    : path_(path), json_(json) {
  std::error_code problem;
  bool isThere =
      !path.empty() && std::filesystem::is_regular_file(path, problem);
  // Lines after the last checkpoint are removed; all if a run starts anew.
  Kept kept = isThere ? keptOf(path, from.value_or(-1), inside) : Kept();
  if (!events.empty())
    events_.emplace(events, from);
  if (path.empty())
    return;
  // Opening a pipe waits for a reader, who may never come.
  int pipe = std::filesystem::is_fifo(path, problem)
                 ? ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)
                 : 0;
  if (pipe < 0)
    throw badInput("--log ", path, ": is a pipe that nothing reads");
  file_.open(path, std::ios::app);
  if (pipe > 0)
    ::close(pipe);
  if (!file_)
    throw badInput(path, ": the log cannot be written");
  // Done last: a command that is refused has changed nothing.
  if (isThere && kept.bytes < std::filesystem::file_size(path, problem))
    std::filesystem::resize_file(path, kept.bytes, problem);
  if (kept.firstMissing)
    warn(absl::StrCat("--log ", path, ": lacks steps before the checkpoint, ",
                      "which were trained but not written: the first is ",
                      kept.firstMissing, ", the last ", kept.lastMissing));
}

TrainingLog::~TrainingLog() { flush(); }

void TrainingLog::step(int64_t step, int64_t epoch,
                       const std::vector<Metric> &metrics) {
  if (events_)
    events_->scalars(step, "train/", metrics);
  if (!file_.is_open())
    return warnOfCut();
  ordered_json line = {{"step", step}, {"epoch", epoch}};
  line.update(toJson(metrics));
  file_ << jsonText(line) << '\n';
  warnOfCut();
}

/// A failure stays in its stream, so a file is cut only once.
std::vector<std::string> TrainingLog::cutFiles() const {
  std::vector<std::string> cut;
  if (file_.is_open() && !file_)
    cut.push_back(path_);
  if (events_ && !events_->isWhole())
    cut.push_back(events_->path());
  return cut;
}

void TrainingLog::warnOfCut() {
  std::vector<std::string> cut = cutFiles();
  for (const std::string &path : cut)
    if (std::find(told_.begin(), told_.end(), path) == told_.end())
      warn(path + ": can be written no more, and ends here; is the disk full?");
  told_ = std::move(cut);
}

void TrainingLog::flush() {
  if (file_.is_open())
    file_.flush();
  if (events_)
    events_->flush();
  warnOfCut();
}

void TrainingLog::finish() {
  flush();
  if (std::vector<std::string> cut = cutFiles(); !cut.empty())
    throw failed(absl::StrJoin(cut, ", "),
                 ": not all of the log could be written; is the disk full?");
}

/// Formats " 3/20"; all parts of a whole are equally long.
static std::string partText(int64_t part, int64_t whole) {
  std::string total = std::to_string(whole), text = std::to_string(part);
  text.insert(0, total.size() > text.size() ? total.size() - text.size() : 0,
              ' ');
  return text + (whole ? "/" + total : "");
}

static std::string epochText(const EpochReport &report) {
  std::string text = "epoch " + partText(report.epoch, report.epochs);
  text += "  " + metricsText(report.train, "train ");
  if (!report.test.empty())
    text += "  " + metricsText(report.test, "test ");
  return text + "  " + durationText(report.secondsPerStep) + "/step";
}

void TrainingLog::epoch(const EpochReport &report) {
  ordered_json line = {{"epoch", report.epoch},
                       {"step", report.step},
                       {"train", toJson(report.train)},
                       {"test", toJson(report.test)},
                       {"ms_per_step", report.secondsPerStep * 1e3}};
  if (file_.is_open())
    file_ << jsonText(line) << std::endl;
  if (events_) {
    events_->scalars(report.step, "epoch/", report.train);
    if (!report.test.empty())
      events_->scalars(report.step, "test/", report.test);
    events_->flush();
  }
  warnOfCut();
  std::puts((json_ ? jsonText(line) : printable(epochText(report))).c_str());
  std::fflush(stdout);
}

void TrainingLog::test(const EpochReport &report, int64_t steps) {
  ordered_json line = {{"step", report.step},
                       {"epoch", report.epoch},
                       {"test", toJson(report.test)}};
  if (file_.is_open())
    file_ << jsonText(line) << std::endl;
  if (events_) {
    events_->scalars(report.step, "test/", report.test);
    events_->flush();
  }
  warnOfCut();
  std::string text = "step " + partText(report.step, steps) + "  " +
                     metricsText(report.test, "test ");
  std::puts((json_ ? jsonText(line) : printable(text)).c_str());
  std::fflush(stdout);
}

} // namespace gradus::cli
