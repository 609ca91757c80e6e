// What training says at its end.

#include "tests/tool/adder.h"
#include "tool/train/training_summary.h"

#include <gmock/gmock.h>

using namespace gradus::cli;
using testing::HasSubstr;

static std::string printed(const TrainingSummary &summary, bool json) {
  Adder adder;
  TrainOptions options;
  options.session.json = json;
  options.session.artifact = "adder.gradus";
  options.test.patience = 3;
  testing::internal::CaptureStdout();
  summary.print(options, *adder.open());
  return testing::internal::GetCapturedStdout();
}

TEST(TrainingSummary, IsATable) {
  TrainingSummary summary;
  summary.done = summary.total = 4;
  summary.test = {{"loss", 0.1}, {"accuracy", 0.9722}};
  summary.stepSeconds = 4e-3;
  std::string text = printed(summary, false);
  EXPECT_THAT(text, HasSubstr("test accuracy: 0.972\n"));
  EXPECT_THAT(text, HasSubstr("1.000 ms (4 steps, 1 thread)"));
  EXPECT_THAT(printed(summary, true), HasSubstr(R"("device":"1 thread")"));
  EXPECT_THAT(text, testing::Not(HasSubstr("best")));
}

TEST(TrainingSummary, SaysThatPatienceEnded) {
  TrainingSummary summary;
  summary.done = 40;
  summary.total = 100;
  summary.best = "accuracy 0.9000 of step 10";
  summary.stoppedEarly = true;
  EXPECT_THAT(printed(summary, false),
              HasSubstr("stopped early after step 40 of 100: 3 evaluations "
                        "found nothing better than accuracy 0.9000 of step "
                        "10\n"));
  EXPECT_THAT(printed(summary, true), HasSubstr(R"("stopped_early":true)"));
}

TEST(TrainingSummary, SaysThatThereWasNothingToDo) {
  TrainingSummary summary;
  summary.start = summary.done = summary.total = 4;
  EXPECT_THAT(printed(summary, false), HasSubstr("nothing to train"));
}
