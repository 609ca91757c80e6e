// The tests compare a report with its run: curves, memory, warnings, its end.

#include "tests/tool/adder.h"
#include "tool/text.h"
#include "tool/train/run_report.h"

#include <gmock/gmock.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <sstream>
#include <sys/resource.h>

using namespace gradus::cli;
using namespace gradus::training;
using nlohmann::ordered_json;
using testing::HasSubstr;

namespace {

/// A report of the hand-made artifact, which has run steps 4 to `done` of 8.
struct Reported {
  explicit Reported(const std::string &path = "", int64_t done = 6,
                    RunReport::Clock::duration pause = {}) {
    options.report = path;
    options.session.artifact = "adder.gradus";
    report.emplace(options, pause);
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
  std::string whole = contentOf(path);
  EXPECT_EQ(ordered_json::parse(whole), run.report->data({}));
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  auto *handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = {16, before.rlim_max}; // bytes: a part of it can be written
  setrlimit(RLIMIT_FSIZE, &small);
  bool isRefused = false;
  try {
    run.report->write({"failed", "later"});
  } catch (const Failure &) {
    isRefused = true;
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(isRefused);
  EXPECT_EQ(contentOf(path), whole) << "the old file stays";
  std::filesystem::remove(path);
}

TEST(RunReport, IsWrittenWhileTheRunGoesOn) {
  std::string path = testing::TempDir() + "gradus_running.json";
  auto ended = [&] {
    bool isThere = std::filesystem::exists(path);
    std::string text = isThere ? contentOf(path) : "";
    std::filesystem::remove(path);
    return isThere ? ordered_json::parse(text)["run"]["ended"] : "";
  };
  Reported run(path);
  EXPECT_TRUE(run.report->onEpoch({}).ok());
  EXPECT_EQ(ended(), "running");
  EXPECT_TRUE(run.report->onTest({6, 8, 1, {}, false}).ok());
  EXPECT_EQ(ended(), "running");
  EXPECT_TRUE(run.report->onSave({6, SaveKind::due, {}}).ok());
  EXPECT_EQ(ended(), "running");
  EXPECT_TRUE(run.report->onSave({6, SaveKind::end, {}}).ok());
  EXPECT_EQ(ended(), "") << "the page of the whole run follows";
  Reported young(path, 6, std::chrono::hours(1));
  EXPECT_TRUE(young.report->onEpoch({}).ok());
  EXPECT_EQ(ended(), "") << "the pause is not over";
}

TEST(RunReport, WarnsOnceOfAPageThatCannotBeWritten) {
  std::filesystem::path folder = testing::TempDir() + "gradus_no_folder";
  std::filesystem::remove_all(folder);
  Reported run(folder / "run.json");
  auto warnings = [&] { return run.report->data({})["warnings"].size(); };
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(run.report->onEpoch({}).ok());
  EXPECT_EQ(warnings(), 1u);
  std::filesystem::create_directory(folder);
  EXPECT_TRUE(run.report->onEpoch({}).ok());
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(run.report->onEpoch({}).ok());
  EXPECT_EQ(warnings(), 2u);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("warning: --report: " + folder.string()));
}

TEST(RunReport, EndsNoRunWhateverIsThrown) {
  Reported run("/nowhere/run.json");
  run.report->begin({run.session.get(),
                     []() -> TrainingSummary { throw std::bad_alloc(); },
                     {},
                     1});
  testing::internal::CaptureStderr();
  EXPECT_TRUE(run.report->onEpoch({}).ok());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("bad_alloc"));
}

TEST(RunReport, KeepsTheTimeOfTheEndOfTheSteps) {
  Reported run;
  TrainingSummary last = run.summary;
  last.seconds = 2.5;
  run.report->finish(last);
  run.summary.seconds = 70; // with the scoring
  EXPECT_EQ(run.report->data({})["run"]["seconds"], 2.5);
}

TEST(RunReport, SaysWhyScoresAreLeftOut) {
  Reported run;
  gradus::test::TestArtifact artifact;
  artifact.header.graphs[1]->name = "other"; // there is no `evaluate`
  Adder without(artifact);
  auto session = without.open();
  testing::internal::CaptureStderr();
  run.report->score(*session, gradus::data::Feed(), {}, 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("warning: --report: the scores are left out: "));
  EXPECT_THAT(run.report->data({})["scores_words"].get<std::string>(),
              HasSubstr("Left out: "));
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
