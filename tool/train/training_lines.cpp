// Lines for people have columns of one width: " 3/20".

#include "tool/train/training_lines.h"

#include "messages/json_text.h"
#include "messages/printable.h"
#include "tool/evaluate/metrics_text.h"
#include "tool/text.h"
#include "training/training_log.h"

#include <cstdio>

using namespace gradus::training;
using gradus::runtime::Status;

namespace gradus::cli {

Status ProgressBar::onPiece(const PieceReport &report) {
  progress_.update(report.step, metricsText(report.figures));
  return {};
}

Status ProgressBar::onEpoch(const EpochReport &) {
  progress_.clear();
  return {};
}

Status ProgressBar::onTest(const TestReport &) {
  progress_.clear();
  return {};
}

Status ProgressBar::onSave(const SaveReport &report) {
  if (report.isLast())
    progress_.clear();
  return {};
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

static void print(const std::string &line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

void TrainingLines::printTest(int64_t step, int64_t steps, int64_t epoch,
                              const std::vector<Metric> &figures) const {
  std::string text =
      "step " + partText(step, steps) + "  " + metricsText(figures, "test ");
  print(json_ ? jsonText(testLine(step, epoch, figures)) : printable(text));
}

Status TrainingLines::onEpoch(const EpochReport &report) {
  if (report.hasOwnTest)
    printTest(report.step, report.steps, report.epoch, report.test);
  print(json_ ? jsonText(lineOf(report)) : printable(epochText(report)));
  return {};
}

Status TrainingLines::onTest(const TestReport &report) {
  if (report.isInside)
    printTest(report.step, report.steps, report.epoch, report.figures);
  return {};
}

} // namespace gradus::cli
