// What training writes, for people and for programs.

#include "tool/evaluate/training_log.h"
#include "tool/failure.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <unistd.h>

using namespace gradus::cli;
using testing::HasSubstr;

namespace {

const EpochReport kReport = {
    3, 20, 132, {{"loss", 0.5}}, {{"accuracy", 0.97}}, 3e-4};

std::string printed(bool json) {
  testing::internal::CaptureStdout();
  TrainingLog("", std::nullopt, json).epoch(kReport);
  return testing::internal::GetCapturedStdout();
}

/// A file that is taken away.
struct LogFile {
  std::string path =
      testing::TempDir() + "/gradus_log." + std::to_string(getpid()) + ".jsonl";
  ~LogFile() { std::filesystem::remove(path); }

  std::string words(std::optional<int64_t> from) const {
    try {
      TrainingLog log(path, from, false);
    } catch (const Failure &failure) {
      return failure.what();
    }
    return "";
  }
  std::string contents() const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

} // namespace

TEST(TrainingLog, PrintsALineAnEpoch) {
  EXPECT_EQ(
      printed(false),
      "epoch  3/20  train loss 0.5000  test accuracy 0.9700  0.300 ms/step\n");
}

TEST(TrainingLog, PrintsJsonWhereAProgramReads) {
  EXPECT_THAT(
      printed(true),
      HasSubstr(
          R"({"epoch":3,"step":132,"train":{"loss":0.5},"test":{"accuracy":0.97})"));
}

TEST(TrainingLog, TellsTestsWithinAnEpoch) {
  LogFile log;
  testing::internal::CaptureStdout();
  TrainingLog(log.path, std::nullopt, false)
      .test({3, 20, 90, {}, {{"loss", 0.5}}}, 880);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "step  90/880  test loss 0.5000\n");
  EXPECT_EQ(log.contents(),
            "{\"step\":90,\"epoch\":3,\"test\":{\"loss\":0.5}}\n");
  EXPECT_EQ(TrainingLog::lastStepOf(log.path), 90);
  EXPECT_EQ(log.words(90), "");
  EXPECT_THAT(log.contents(), HasSubstr("90")) << "a later run goes on";
}

TEST(TrainingLog, WritesStepsToItsFile) {
  std::string path = (std::filesystem::temp_directory_path() /
                      ("gradus_log." + std::to_string(getpid()) + ".jsonl"))
                         .string();
  TrainingLog(path, std::nullopt, false).step(7, 1, {{"loss", 2}});
  TrainingLog(path, /*from=*/7, false).step(8, 1, {{"loss", 1}});
  std::ifstream file(path);
  std::string first, second;
  std::getline(file, first);
  std::getline(file, second);
  EXPECT_EQ(first, R"({"step":7,"epoch":1,"loss":2.0})");
  EXPECT_THAT(second, HasSubstr("\"step\":8"));
  std::filesystem::remove(path);
}

TEST(TrainingLog, SaysWhereItCannotWrite) {
  EXPECT_THROW(TrainingLog("/nonexistent/log", std::nullopt, false), Failure);
}

TEST(TrainingLog, SaysAtTheEndThatALineWasLost) {
  TrainingLog log("/dev/full", std::nullopt, false);
  log.step(1, 1, {{"loss", 2}});
  try {
    log.finish();
    FAIL();
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code, kFailedWhileRunning);
    EXPECT_STREQ(
        failure.what(),
        "/dev/full: not all of the log could be written; is the disk full?");
  }
}

TEST(TrainingLog, WarnsWhenTheFirstLineIsLost) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  TrainingLog log("/dev/full", std::nullopt, false);
  log.epoch(kReport);
  log.epoch(kReport);
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "warning: /dev/full: can be written no more, and ends here; is the "
            "disk full?\n");
}

TEST(TrainingLog, WarnsWhateverEndsTheRun) {
  testing::internal::CaptureStderr();
  TrainingLog("/dev/full", std::nullopt, false).step(1, 1, {{"loss", 2}});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("/dev/full: can be written no more"));
}

TEST(TrainingLog, SaysWhichStepsItLacks) {
  auto warned = [](const std::string &lines, int64_t from) {
    LogFile log;
    std::ofstream(log.path) << lines;
    testing::internal::CaptureStderr();
    EXPECT_EQ(log.words(from), "");
    return testing::internal::GetCapturedStderr();
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
  EXPECT_THROW(TrainingLog(log.path, std::nullopt, false, "/dev/null/events"),
               Failure);
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
  testing::internal::CaptureStdout();
  TrainingLog(log.path, 3, false, "", /*inside=*/true);
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(log.contents(), steps);
}
