// What a run's report has of the run: curves, memory, warnings, its end.

#include "tests/tool/adder.h"
#include "tool/text.h"
#include "tool/train/run_report.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <sstream>

using namespace gradus::cli;
using namespace gradus::training;
using nlohmann::ordered_json;
using testing::HasSubstr;

namespace {

/// A report of the hand-made artifact, which has run steps 4 to `done` of 8.
struct Reported {
  explicit Reported(const std::string &path = "", int64_t done = 6) {
    options.report = path;
    options.session.artifact = "adder.gradus";
    report.emplace(options);
    summary.start = 3;
    summary.done = done;
    summary.total = 8;
    summary.stepSeconds = 0.5;
    RunView view{session.get(), [this] { return summary; }, {}, UINT64_MAX};
    view.outline.start = 3;
    view.outline.total = 8;
    view.outline.data.batch = 16;
    report->begin(std::move(view));
  }
  void step(int64_t number, double loss) {
    std::vector<Metric> figures = {{"loss", loss}};
    StepReport step{number, 1, figures, {}, {{"watched", 2.5}}};
    EXPECT_TRUE(report->onStep(step).ok());
  }
  /// The curve of a name.
  ordered_json curve(const std::string &of, const std::string &name) {
    ordered_json data = report->data({});
    for (const auto &curve : data["curves"])
      if (curve["of"] == of && curve["name"] == name)
        return curve;
    return {};
  }

  Adder adder;
  std::unique_ptr<gradus::runtime::Session> session = adder.open();
  TrainOptions options;
  TrainingSummary summary;
  std::optional<RunReport> report;
};

std::string contentOf(const std::string &path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

} // namespace

TEST(RunReport, HasACurveOfEachFigure) {
  Reported run;
  for (int64_t i : {4, 5, 6})
    run.step(i, 1.0 / double(i));
  std::vector<Metric> tested = {{"loss", 0.75}};
  EXPECT_TRUE(run.report->onTest({6, 8, 1, tested, false}).ok());
  EXPECT_TRUE(run.report->onPiece({6, 8, tested, 3, 0.5}).ok());
  EXPECT_EQ(run.curve("step", "loss")["points"].dump(),
            "[[4,0.25],[5,0.2],[6,0.16666666666666666]]");
  EXPECT_EQ(run.curve("step", "watched")["values"], 3);
  EXPECT_EQ(run.curve("test", "loss")["points"].dump(), "[[6,0.75]]");
  EXPECT_EQ(run.curve("piece", "samples_per_second")["points"].dump(),
            "[[6,96.0]]");
}

TEST(RunReport, HasNoNumberThatJsonLacks) {
  Reported run;
  run.step(4, NAN);
  run.summary.test = {{"loss", NAN}};
  ordered_json data = ordered_json::parse(run.report->data({}).dump());
  EXPECT_TRUE(data["run"]["test"]["loss"].is_null());
  EXPECT_EQ(run.curve("step", "loss")["not_finite"], 1);
}

TEST(RunReport, SaysWhatRanAndHowItEnded) {
  Reported run;
  ordered_json data = run.report->data({"failed", "the disk is full"});
  EXPECT_EQ(data["kind"], "run");
  EXPECT_EQ(data["run"]["from_step"], 3);
  EXPECT_EQ(data["run"]["steps"], 6);
  EXPECT_EQ(data["run"]["to_step"], 8);
  EXPECT_EQ(data["run"]["seed"], "18446744073709551615");
  EXPECT_EQ(data["run"]["ended"], "failed");
  EXPECT_EQ(data["run"]["why"], "the disk is full");
  EXPECT_THAT(data["scores_words"].get<std::string>(),
              HasSubstr("compared at the end"));
}

TEST(RunReport, HasNoSpeedWithoutAStep) {
  EXPECT_TRUE(Reported("", 3).report->data({})["run"]["ms_per_step"].is_null());
}

TEST(RunReport, DividesThePlannedMemory) {
  Reported run;
  ordered_json memory = run.report->data({})["memory"];
  EXPECT_EQ(memory["predicted_bytes"], run.session->memory().predicted());
  uint64_t states = 0;
  for (const auto &role : memory["states"])
    states += role["bytes"].get<uint64_t>();
  EXPECT_GT(states, 0u);
  EXPECT_LE(states, memory["state_bytes"].get<uint64_t>());
  EXPECT_TRUE(memory["measured_bytes"].is_null());
}

TEST(RunReport, HasWhatWasToldOnTheWay) {
  Reported run;
  testing::internal::CaptureStderr();
  warn("the data is \xff");
  testing::internal::GetCapturedStderr();
  ordered_json warnings = run.report->data({})["warnings"];
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0]["kind"], "warning");
  EXPECT_EQ(warnings[0]["text"], "the data is \\xFF");
  EXPECT_FALSE(run.report->data({}).contains("warnings_left_out"));
}

TEST(RunReport, CountsTheWarningsThatItLeavesOut) {
  Reported run;
  testing::internal::CaptureStderr();
  for (int i = 0; i < 203; ++i)
    warn("again");
  testing::internal::GetCapturedStderr();
  ordered_json data = run.report->data({});
  EXPECT_EQ(data["warnings"].size(), 200u);
  EXPECT_EQ(data["warnings_left_out"], 3);
}

TEST(RunReport, IsWrittenWhole) {
  std::string path = testing::TempDir() + "gradus_run_report.json";
  Reported run(path);
  run.step(4, 0.25);
  run.report->write({});
  EXPECT_EQ(ordered_json::parse(contentOf(path)), run.report->data({}));
  std::filesystem::remove(path);
}

TEST(RunReport, NamesTheFileThatCannotBeWritten) {
  Reported run("/nowhere/run.html");
  try {
    run.report->write({});
    ADD_FAILURE() << "it was written";
  } catch (const Failure &failure) {
    EXPECT_THAT(failure.what(), HasSubstr("/nowhere/run.html"));
  }
}
