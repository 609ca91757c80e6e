// One JSON object a line in the log: {"step": ...} and {"epoch": ...}.

#include "frontends/cli/training_log.h"

#include "frontends/cli/failure.h"
#include "frontends/cli/text.h"

#include <cstdio>

using nlohmann::ordered_json;

namespace gradus::cli {

ordered_json toJson(const std::vector<Metric> &metrics) {
  ordered_json object = ordered_json::object();
  for (const Metric &metric : metrics)
    object[metric.name] = metric.value;
  return object;
}

TrainingLog::TrainingLog(const std::string &path, bool append, bool json)
    : path_(path), json_(json) {
  if (path.empty())
    return;
  file_.open(path, append ? std::ios::app : std::ios::trunc);
  if (!file_)
    throw badInput(path, ": the log cannot be written");
}

void TrainingLog::step(int64_t step, int64_t epoch,
                       const std::vector<Metric> &metrics) {
  if (!file_.is_open())
    return;
  ordered_json line = {{"step", step}, {"epoch", epoch}};
  line.update(toJson(metrics));
  file_ << line.dump() << '\n';
}

void TrainingLog::finish() {
  if (file_.is_open() && !file_.flush())
    throw failed(path_, ": not all of the log could be written; is the disk "
                        "full?");
}

static std::string epochText(const EpochReport &report) {
  std::string total = std::to_string(report.epochs),
              epoch = std::to_string(report.epoch);
  epoch.insert(0, total.size() > epoch.size() ? total.size() - epoch.size() : 0,
               ' ');
  std::string text = "epoch " + epoch + (report.epochs ? "/" + total : "");
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
    file_ << line.dump() << std::endl;
  std::puts((json_ ? line.dump() : epochText(report)).c_str());
  std::fflush(stdout);
}

} // namespace gradus::cli
