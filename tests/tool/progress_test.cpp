// The bar; where there is no terminal, a line now and then.

#include "tool/progress.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

TEST(Progress, FillsItsBar) {
  EXPECT_EQ(bar(0, 4), "[....]");
  EXPECT_EQ(bar(0.5, 4), "[##..]");
  EXPECT_EQ(bar(1, 4), "[####]");
  EXPECT_EQ(bar(7, 4), "[####]");
}

TEST(Progress, ShowsHowLongItTakesAtEveryWidth) {
  std::string times = "step 440/880  7.10 ms/step  3s left";
  std::string figures = "loss 0.1234  accuracy 0.9722  gradient_norm 1.2345  "
                        "learning_rate 0.001";
  EXPECT_EQ(progressLine(0.5, times, figures, 40),
            (times + "  " + figures).substr(0, 40))
      << "no room for a bar";
  EXPECT_EQ(progressLine(0.5, times, figures, 80),
            ("[####....] " + times + "  " + figures).substr(0, 80));
  EXPECT_EQ(progressLine(0.5, times, figures, 200),
            "[############............] " + times + "  " + figures);
}

TEST(Progress, ShrinksItsBarBeforeFiguresAreCut) {
  std::string times = "step 1/2  3s left";
  EXPECT_EQ(progressLine(0.5, times, "loss 0.5", 40),
            "[#####.....] step 1/2  3s left  loss 0.5");
}

TEST(Progress, DrawsStepsTimeLeftAndFigures) {
  testing::internal::CaptureStdout();
  {
    Progress progress(100, 0, /*enabled=*/true);
    progress.update(50, "loss 0.5");
  }
  std::string drawn = testing::internal::GetCapturedStdout();
  EXPECT_NE(drawn.find("step 50/100  "), std::string::npos) << drawn;
  EXPECT_NE(drawn.find(" left  loss 0.5"), std::string::npos) << drawn;
}

TEST(Progress, SaysNothingWhereItIsNotWanted) {
  testing::internal::CaptureStdout();
  Progress(100, 0, /*enabled=*/false).update(50, "loss 0.5");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST(Progress, PrintsALineWhereNothingWasSaidForLong) {
  testing::internal::CaptureStderr();
  Progress progress(100, 0, /*enabled=*/false, /*quiet=*/0);
  progress.update(50, "loss 0.5");
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("step 50/100  "), 0u) << said;
  EXPECT_TRUE(said.ends_with(" left  loss 0.5\n")) << said;
}
