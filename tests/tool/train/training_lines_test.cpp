// What training prints, for people and for programs.

#include "tool/train/training_lines.h"

#include <gmock/gmock.h>

using namespace gradus::cli;
using namespace gradus::training;
using testing::HasSubstr;

namespace {

std::string printedEpoch(bool json, bool hasOwnTest = false) {
  EpochReport report;
  report.epoch = 3;
  report.epochs = 20;
  report.step = 132;
  report.steps = 880;
  report.train = {{"loss", 0.5}};
  report.test = {{"accuracy", 0.97}};
  report.secondsPerStep = 3e-4;
  report.hasOwnTest = hasOwnTest;
  testing::internal::CaptureStdout();
  EXPECT_TRUE(TrainingLines(json).onEpoch(report).ok());
  return testing::internal::GetCapturedStdout();
}

std::string printedTest(bool isInside) {
  std::vector<Metric> figures = {{"loss", 0.5}};
  testing::internal::CaptureStdout();
  EXPECT_TRUE(
      TrainingLines(false).onTest({90, 880, 3, figures, isInside}).ok());
  return testing::internal::GetCapturedStdout();
}

} // namespace

TEST(TrainingLines, PrintALineAnEpoch) {
  EXPECT_EQ(
      printedEpoch(false),
      "epoch  3/20  train loss 0.5000  test accuracy 0.9700  0.300 ms/step\n");
}

TEST(TrainingLines, PrintJsonWhereAProgramReads) {
  EXPECT_THAT(
      printedEpoch(true),
      HasSubstr(
          R"({"epoch":3,"step":132,"train":{"loss":0.5},"test":{"accuracy":0.97})"));
}

TEST(TrainingLines, TellTestsWithinAnEpoch) {
  EXPECT_EQ(printedTest(true), "step  90/880  test loss 0.5000\n");
  EXPECT_EQ(printedTest(false), "") << "the epoch's line has it";
}

TEST(TrainingLines, TellTheTestThatALongerRunWouldHave) {
  EXPECT_THAT(printedEpoch(false, true),
              testing::StartsWith("step 132/880  test accuracy 0.9700\nepoch"));
}
