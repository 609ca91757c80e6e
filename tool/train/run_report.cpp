// Joins what the run, its outline and its summary tell into one object.

#include "tool/train/run_report.h"

#include "messages/json_text.h"
#include "runtime/flat.h"
#include "runtime/well_known.h"
#include "tool/command_line.h"
#include "tool/evaluate/prediction_report.h"
#include "tool/failure.h"
#include "tool/output_files.h"
#include "tool/report/page.h"
#include "tool/session/averages.h"
#include "tool/session/set_numbers.h"
#include "training/evaluation.h"

#include "absl/strings/str_cat.h"

#include <map>
#include <utility>

using namespace gradus::runtime;
using nlohmann::ordered_json;

namespace gradus::cli {

static constexpr size_t kWorst = 24;

Status RunReport::onStep(training::StepReport &report) {
  curves_.add("step", report.step, report.figures);
  curves_.add("step", report.step, report.besides);
  return {};
}

Status RunReport::onPiece(const training::PieceReport &report) {
  if (report.seconds > 0)
    curves_.add(
        "piece", report.step,
        {{"samples_per_second",
          double(report.ran * view_.outline.data.batch) / report.seconds}});
  return {};
}

Status RunReport::onEpoch(const training::EpochReport &report) {
  curves_.add("epoch", report.step, report.train);
  curves_.add("epoch", report.step,
              {{"ms_per_step", report.secondsPerStep * 1e3}});
  refresh();
  return {};
}

Status RunReport::onTest(const training::TestReport &report) {
  curves_.add("test", report.step, report.figures);
  refresh();
  return {};
}

/// The last save is followed by the page of the whole run.
Status RunReport::onSave(const training::SaveReport &report) {
  if (!report.isLast())
    refresh();
  return {};
}

void RunReport::begin(RunView view) {
  view_ = std::move(view);
  written_ = Clock::now();
}

/// A page that cannot be written is no reason to end the run: the next may be.
void RunReport::refresh() {
  if (Clock::now() - written_ < pause_)
    return;
  try {
    write({"running", ""});
    isFailing_ = false;
  } catch (const std::exception &thrown) {
    if (!std::exchange(isFailing_, true))
      warn(absl::StrCat("--report: ", thrown.what()));
  }
  written_ = Clock::now();
}

void RunReport::finish(const TrainingSummary &summary) {
  view_.summary = [summary] { return summary; };
}

void RunReport::failScores(const std::string &why) {
  warn("--report: the scores are left out: " + why);
  leaveScoresOut("Left out: " + why);
}

void RunReport::score(Session &session, const data::Feed &test,
                      std::vector<std::string> classes, int dataThreads) {
  try {
    compare(session, test, std::move(classes), dataThreads);
  } catch (const std::exception &thrown) {
    failScores(thrown.what());
  }
}

void RunReport::compare(Session &session, const data::Feed &test,
                        std::vector<std::string> classes, int dataThreads) {
  if (options_.test.averaged)
    takeAverages(session);
  int graph = findEvaluation(session, /*averaged=*/false);
  PredictionReport report(session, graph, std::move(classes));
  report.keepWorst(kWorst, [&](size_t i) { return test.isOfPixels(i); });
  check(training::evaluate(session, graph, test, dataThreads,
                           [&](auto inputs, int64_t count) {
                             report.add(inputs, count);
                             return Status();
                           })
            .status());
  scoreWords_.clear();
  scores_ = report.scoresJson();
  worst_ = report.worstJson();
  if (scores_.empty())
    scoreWords_ = "The recipe's loss compares no classes (at most 1000) and no "
                  "numbers that could be counted by sample.";
  if (worst_.is_object())
    worst_["of_part"] = options_.test.validation > 0;
}

ordered_json RunReport::runJson(const TrainingSummary &summary,
                                const RunEnd &end) const {
  ordered_json all = summary.toJson(options_, *view_.session);
  const TrainingOutline &outline = view_.outline;
  ordered_json run = {
      {"ended", end.how},
      {"why", end.why},
      {"command", rememberedCommand()},
      {"from_step", outline.start},
      {"to_step", outline.total},
      {"steps_per_epoch", outline.data.batches},
      {"batch", outline.data.batch},
      {"seed", std::to_string(view_.seed)}, // scripts round beyond 2^53
      {"resumed_from", options_.session.resume},
      {"data_text", outline.data.trainingText()},
      {"test_data_text", outline.test ? outline.test->evaluationText() : ""},
      {"schedule", outline.schedule},
      {"seconds_in_steps", summary.stepSeconds}};
  for (const char *key :
       {"steps", "test", "training_samples", "test_samples", "artifact",
        "artifact_bytes", "checkpoint", "ms_per_step", "device", "seconds"})
    run[key] = all[key];
  run["best"] = summary.best;
  if (summary.done == summary.start)
    run["ms_per_step"] = nullptr; // no step ran
  return run;
}

/// Sums the bytes of the states of each role, in the order of the roles.
static ordered_json statesJson(const Session &session) {
  std::map<artifact::Role, uint64_t> bytes;
  for (const StateInfo &state : session.states())
    bytes[state.role] += state.bytes;
  ordered_json list = ordered_json::array();
  for (const auto &[role, size] : bytes)
    list.push_back({{"role", artifact::EnumNameRole(role)}, {"bytes", size}});
  return list;
}

ordered_json RunReport::memoryJson(const TrainingSummary &summary) const {
  MemoryInfo memory = view_.session->memory();
  ordered_json object = {{"states", statesJson(*view_.session)},
                         {"state_bytes", memory.state},
                         {"arena_bytes", memory.arena},
                         {"constant_bytes", memory.constants},
                         {"code_bytes", memory.code},
                         {"predicted_bytes", memory.predicted()},
                         {"at_load_bytes", memory.atLoad},
                         {"measured_bytes", nullptr},
                         {"is_of_host", runsOnHost(*view_.session)}};
  if (summary.measuredBytes)
    object["measured_bytes"] = summary.measuredBytes;
  return object;
}

ordered_json RunReport::warningsJson() const {
  ordered_json list = ordered_json::array();
  for (const HeardWords::Said &said : heard_.said())
    list.push_back(
        {{"kind", said.kind == training::Remark::warning ? "warning" : "note"},
         {"text", said.words}});
  return list;
}

ordered_json RunReport::data(const RunEnd &end) const {
  const Session &session = *view_.session;
  const artifact::Header &header = session.artifact().header();
  TrainingSummary summary = view_.summary();
  ordered_json object = reportHead("run");
  object.update({{"name", textOf(header.name())},
                 {"producer", textOf(header.producer())},
                 {"run", runJson(summary, end)},
                 {"memory", memoryJson(summary)},
                 {"curves", curves_.json()},
                 {"scores", scores_},
                 {"scores_words", scoreWords_},
                 {"worst", worst_},
                 {"warnings", warningsJson()},
                 {"recipe", withNumbersOf(session, recipeOf(session))}});
  if (heard_.leftOut() > 0)
    object["warnings_left_out"] = heard_.leftOut();
  return utf8Json(object);
}

void RunReport::write(const RunEnd &end) const {
  writeWhole(options_.report, reportText(options_.report, data(end)));
}

} // namespace gradus::cli
