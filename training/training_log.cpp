// Writes one JSON object a line to the log: {"step": ...} and {"epoch": ...}.

#include "training/training_log.h"

#include "messages/json_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

using nlohmann::ordered_json;

namespace gradus::training {

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
static runtime::StatusOr<Kept> keptOf(const std::string &path, int64_t last,
                                      bool inside) {
  std::ifstream file(path, std::ios::binary);
  Kept kept;
  bool over = false;
  int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::optional<int64_t> step = stepOf(line);
    bool whole = !file.eof();
    if (!step && (whole || !isCutLine(line)))
      return runtime::invalid(path, ": line ", number,
                              " is none of a training log; write to another "
                              "file, or remove this one");
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

runtime::StatusOr<std::unique_ptr<TrainingLog>>
TrainingLog::open(LogOptions options) {
  std::unique_ptr<TrainingLog> log(new TrainingLog(std::move(options)));
  GRADUS_TRY(log->openFile());
  return log;
}

runtime::Status TrainingLog::openFile() {
  const std::string &path = options_.file;
  std::string named = options_.fileRole + " " + path;
  std::error_code problem;
  bool isThere =
      !path.empty() && std::filesystem::is_regular_file(path, problem);
  // Lines after the last checkpoint are removed; all if a run starts anew.
  Kept kept;
  if (isThere) {
    auto found = keptOf(path, options_.from.value_or(-1), options_.isInside);
    if (!found.ok())
      return runtime::Status(found.status().code(),
                             options_.fileRole + " " +
                                 found.status().message());
    kept = *found;
  }
  if (!options_.events.empty()) {
    auto events = EventFile::create(options_.events, options_.from);
    if (!events.ok())
      return runtime::Status(events.status().code(),
                             options_.eventsRole + " " +
                                 events.status().message());
    events_.emplace(*std::move(events));
  }
  if (path.empty())
    return {};
  // Opening a pipe waits for a reader, who may never come.
  int pipe = std::filesystem::is_fifo(path, problem)
                 ? ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)
                 : 0;
  if (pipe < 0)
    return runtime::invalid(named, ": is a pipe that nothing reads");
  file_.open(path, std::ios::app);
  if (pipe > 0)
    ::close(pipe);
  if (!file_)
    return runtime::invalid(path, ": the log cannot be written");
  // Done last: a run that is refused has changed nothing.
  if (isThere && kept.bytes < std::filesystem::file_size(path, problem))
    std::filesystem::resize_file(path, kept.bytes, problem);
  if (kept.firstMissing)
    tellIf(options_.tell, Remark::warning,
           absl::StrCat(named, ": lacks steps before the checkpoint, which ",
                        "were trained but not written: the first is ",
                        kept.firstMissing, ", the last ", kept.lastMissing));
  return {};
}

TrainingLog::~TrainingLog() { flush(); }

runtime::Status TrainingLog::onStep(StepReport &report) {
  bool isOpen = file_.is_open();
  if (!isOpen && !events_)
    return {};
  std::vector<Metric> figures = report.figures;
  figures.insert(figures.end(), report.besides.begin(), report.besides.end());
  if (events_)
    events_->scalars(report.step, "train/", figures);
  if (isOpen) {
    ordered_json line = {{"step", report.step}, {"epoch", report.epoch}};
    line.update(toJson(figures));
    file_ << jsonText(line) << '\n';
  }
  warnOfCut();
  return {};
}

/// A failure stays in its stream, so a file is cut only once.
std::vector<std::string> TrainingLog::cutFiles() const {
  std::vector<std::string> cut;
  if (file_.is_open() && !file_)
    cut.push_back(options_.file);
  if (events_ && !events_->isWhole())
    cut.push_back(events_->path());
  return cut;
}

void TrainingLog::warnOfCut() {
  std::vector<std::string> cut = cutFiles();
  for (const std::string &path : cut)
    if (std::find(told_.begin(), told_.end(), path) == told_.end())
      tellIf(options_.tell, Remark::warning,
             path + ": can be written no more, and ends here; is the disk "
                    "full?");
  told_ = std::move(cut);
}

void TrainingLog::flush() {
  if (file_.is_open())
    file_.flush();
  if (events_)
    events_->flush();
  warnOfCut();
}

runtime::Status TrainingLog::onSave(const SaveReport &) {
  flush();
  return {};
}

runtime::Status TrainingLog::finish() {
  flush();
  if (std::vector<std::string> cut = cutFiles(); !cut.empty())
    return runtime::failed(
        absl::StrJoin(cut, ", "),
        ": not all of the log could be written; is the disk full?");
  return {};
}

ordered_json lineOf(const EpochReport &report) {
  return {{"epoch", report.epoch},
          {"step", report.step},
          {"train", toJson(report.train)},
          {"test", toJson(report.test)},
          {"ms_per_step", report.secondsPerStep * 1e3}};
}

ordered_json testLine(int64_t step, int64_t epoch,
                      const std::vector<Metric> &figures) {
  return {{"step", step}, {"epoch", epoch}, {"test", toJson(figures)}};
}

runtime::Status TrainingLog::onEpoch(const EpochReport &report) {
  if (report.hasOwnTest)
    writeTest(report.step, report.epoch, report.test);
  if (file_.is_open())
    file_ << jsonText(lineOf(report)) << std::endl;
  if (events_) {
    events_->scalars(report.step, "epoch/", report.train);
    if (!report.test.empty())
      events_->scalars(report.step, "test/", report.test);
    events_->flush();
  }
  warnOfCut();
  return {};
}

runtime::Status TrainingLog::onTest(const TestReport &report) {
  if (report.isInside)
    writeTest(report.step, report.epoch, report.figures);
  return {};
}

void TrainingLog::writeTest(int64_t step, int64_t epoch,
                            const std::vector<Metric> &figures) {
  if (file_.is_open())
    file_ << jsonText(testLine(step, epoch, figures)) << std::endl;
  if (events_) {
    events_->scalars(step, "test/", figures);
    events_->flush();
  }
  warnOfCut();
}

} // namespace gradus::training
