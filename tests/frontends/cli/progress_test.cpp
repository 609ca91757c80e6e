// The bar; where there is no terminal, a line now and then.

#include "frontends/cli/progress.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

TEST(Progress, FillsItsBar) {
  EXPECT_EQ(bar(0, 4), "[....]");
  EXPECT_EQ(bar(0.5, 4), "[##..]");
  EXPECT_EQ(bar(1, 4), "[####]");
  EXPECT_EQ(bar(7, 4), "[####]");
}

TEST(Progress, DrawsStepsFiguresAndTimeLeft) {
  testing::internal::CaptureStdout();
  {
    Progress progress(100, 0, /*enabled=*/true);
    progress.update(50, "loss 0.5");
  }
  std::string drawn = testing::internal::GetCapturedStdout();
  EXPECT_NE(drawn.find("step 50/100  loss 0.5"), std::string::npos) << drawn;
  EXPECT_NE(drawn.find("left"), std::string::npos) << drawn;
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
  EXPECT_EQ(said.find("step 50/100  loss 0.5  "), 0u) << said;
  EXPECT_TRUE(said.ends_with(" left\n")) << said;
}
