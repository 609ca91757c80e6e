// What training writes for programs, and what it says of its file.

#include "training/training_log.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <unistd.h>

using namespace gradus::training;
using testing::HasSubstr;

namespace {

EpochReport epochReport() {
  EpochReport report;
  report.epoch = 3;
  report.epochs = 20;
  report.step = 132;
  report.train = {{"loss", 0.5}};
  report.test = {{"accuracy", 0.97}};
  report.secondsPerStep = 3e-4;
  return report;
}

/// A log whose warnings are kept.
struct Opened {
  explicit Opened(const std::string &path, std::optional<int64_t> from = {},
                  const std::string &events = "", bool inside = false) {
    LogOptions options;
    options.file = path;
    options.events = events;
    options.from = from;
    options.isInside = inside;
    options.tell = [this](Remark, const std::string &words) {
      warned += words + "\n";
    };
    auto opened = TrainingLog::open(options);
    error = opened.status().message();
    if (opened.ok())
      log = *std::move(opened);
  }
  void step(int64_t step, double loss) {
    std::vector<Metric> figures = {{"loss", loss}};
    StepReport report{step, 1, figures, {}, {}};
    EXPECT_TRUE(log->onStep(report).ok());
  }
  void test(int64_t step, double loss) {
    std::vector<Metric> figures = {{"loss", loss}};
    EXPECT_TRUE(log->onTest({step, 880, 3, figures, /*isInside=*/true}).ok());
  }
  void epoch() { EXPECT_TRUE(log->onEpoch(epochReport()).ok()); }

  std::string warned, error;
  std::unique_ptr<TrainingLog> log; // it warns at its end
};

/// A file that is taken away.
struct LogFile {
  std::string path =
      testing::TempDir() + "/gradus_log." + std::to_string(getpid()) + ".jsonl";
  ~LogFile() { std::filesystem::remove(path); }

  std::string words(std::optional<int64_t> from) const {
    return Opened(path, from).error;
  }
  std::string contents() const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

} // namespace

TEST(TrainingLog, WritesALineAnEpoch) {
  LogFile log;
  Opened(log.path).epoch();
  EXPECT_THAT(
      log.contents(),
      HasSubstr(
          R"({"epoch":3,"step":132,"train":{"loss":0.5},"test":{"accuracy":0.97})"));
}

TEST(TrainingLog, WritesTestsWithinAnEpoch) {
  LogFile log;
  Opened(log.path).test(90, 0.5);
  EXPECT_EQ(log.contents(),
            "{\"step\":90,\"epoch\":3,\"test\":{\"loss\":0.5}}\n");
  EXPECT_EQ(TrainingLog::lastStepOf(log.path), 90);
  EXPECT_EQ(log.words(90), "");
  EXPECT_THAT(log.contents(), HasSubstr("90")) << "a later run goes on";
}

TEST(TrainingLog, WritesTheTestThatALongerRunWouldHaveBeforeItsEpoch) {
  LogFile log;
  EpochReport report = epochReport();
  report.hasOwnTest = true;
  EXPECT_TRUE(Opened(log.path).log->onEpoch(report).ok());
  EXPECT_THAT(log.contents(),
              testing::StartsWith(
                  R"({"step":132,"epoch":3,"test":{"accuracy":0.97}})"));
}

TEST(TrainingLog, WritesStepsToItsFile) {
  LogFile log;
  Opened(log.path).step(7, 2);
  Opened(log.path, /*from=*/7).step(8, 1);
  EXPECT_EQ(log.contents(), "{\"step\":7,\"epoch\":1,\"loss\":2.0}\n"
                            "{\"step\":8,\"epoch\":1,\"loss\":1.0}\n");
}

TEST(TrainingLog, SaysWhereItCannotWrite) {
  EXPECT_EQ(Opened("/nonexistent/log").error,
            "/nonexistent/log: the log cannot be written");
}

TEST(TrainingLog, SaysAtTheEndThatALineWasLost) {
  Opened full("/dev/full");
  full.step(1, 2);
  gradus::runtime::Status end = full.log->finish();
  EXPECT_EQ(end.code(), gradus::runtime::StatusCode::failed);
  EXPECT_EQ(
      end.message(),
      "/dev/full: not all of the log could be written; is the disk full?");
}

TEST(TrainingLog, WarnsWhenTheFirstLineIsLost) {
  Opened full("/dev/full");
  full.epoch();
  full.epoch();
  EXPECT_EQ(full.warned, "/dev/full: can be written no more, and ends here; is "
                         "the disk full?\n");
}

TEST(TrainingLog, WarnsWhateverEndsTheRun) {
  Opened full("/dev/full");
  full.step(1, 2);
  full.log.reset();
  EXPECT_THAT(full.warned, HasSubstr("/dev/full: can be written no more"));
}

TEST(TrainingLog, SaysWhichStepsItLacks) {
  auto warned = [](const std::string &lines, int64_t from) {
    LogFile log;
    std::ofstream(log.path) << lines;
    Opened opened(log.path, from);
    EXPECT_EQ(opened.error, "");
    return opened.warned;
  };
  auto line = [](int step) {
    return "{\"step\":" + std::to_string(step) + ",\"epoch\":1}\n";
  };
  EXPECT_EQ(warned(line(1) + line(2), 2), "");
  EXPECT_EQ(warned(line(7) + line(8), 8), "") << "it began with a later run";
  EXPECT_EQ(warned(line(7) + line(8), 6), "") << "and goes on before that";
  EXPECT_THAT(warned(line(7) + line(8), 9), HasSubstr("is 9, the last 9"));
  EXPECT_THAT(warned(line(1) + line(2) + "{\"step\":3,\"ep", 9),
              HasSubstr("the first is 3, the last 9"));
  EXPECT_THAT(warned(line(1) + line(5) + line(8), 8),
              HasSubstr("the first is 2, the last 7"));
  EXPECT_THAT(warned("", 4), HasSubstr("the first is 1, the last 4"));
}

TEST(TrainingLog, LeavesFilesAloneThatAreNone) {
  LogFile log;
  for (const char *line : {"precious\n", "{\"step\":1,\"note\":\"mine\"}\n"}) {
    std::ofstream(log.path) << line;
    for (std::optional<int64_t> from : {std::optional<int64_t>(), {3}}) {
      EXPECT_THAT(log.words(from),
                  HasSubstr("line 1 is none of a training log"));
      EXPECT_EQ(log.contents(), line);
    }
  }
}

TEST(TrainingLog, StaysWholeWhereTheEventsCannotBeWritten) {
  LogFile log;
  std::string one = "{\"step\":1,\"epoch\":1}\n";
  std::ofstream(log.path) << one;
  EXPECT_EQ(
      Opened(log.path, {}, "/dev/null/events").error,
      "event folder /dev/null/events: no file can be written in that folder");
  EXPECT_EQ(log.contents(), one);
}

TEST(TrainingLog, GoesOnBehindWhatWasCut) {
  LogFile log;
  std::string one = "{\"step\":1,\"epoch\":1}\n";
  std::ofstream(log.path) << one << "{\"step\":2,\"epo";
  EXPECT_EQ(log.words(2), "");
  EXPECT_EQ(log.contents(), one);
  EXPECT_EQ(log.words(std::nullopt), "") << "a new run begins anew";
  EXPECT_EQ(log.contents(), "");
}

TEST(TrainingLog, ForgetsTheEpochThatGoesOn) {
  LogFile log;
  std::string steps = "{\"step\":3,\"epoch\":1}\n";
  std::ofstream(log.path) << steps << "{\"epoch\":1,\"step\":3}\n";
  EXPECT_EQ(Opened(log.path, 3, "", /*inside=*/true).error, "");
  EXPECT_EQ(log.contents(), steps);
}
