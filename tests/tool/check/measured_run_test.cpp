// Tolerances follow from how far runs from moved weights end up.

#include "tool/check/measured_run.h"

#include <gtest/gtest.h>

using namespace gradus::check;

TEST(MeasuredRun, ToleratesTenTimesWhatRoundingDoesToALoss) {
  Json run = describeRun(
      {{{2, 1, 0.5}, {{"w", {3, 4}}}}, {{2, 1.001, 0.5}, {{"w", {3, 4}}}}});
  EXPECT_EQ(run["losses"], Json({2.0, 1.0}));
  EXPECT_EQ(run["loss_after_on_batch0"], 0.5);
  EXPECT_EQ(run["loss_rtol"][0], 2e-5);
  EXPECT_NEAR(run["loss_rtol"][1].get<double>(), 0.01, 1e-9);
  // It has gone this far already.
  EXPECT_EQ(run["loss_rtol"][2], run["loss_rtol"][1]);
}

TEST(MeasuredRun, ComparesNoTensorThatRoundingAloneMoves) {
  Json run = describeRun({{{1, 1}, {{"noise", {1e-9}}, {"w", {3, 4}}}},
                          {{1, 1}, {{"noise", {2e-9}}, {"w", {3, 4.0005}}}}});
  EXPECT_EQ(run["final_param_l2_drift_without_rtol"].size(), 1u);
  EXPECT_TRUE(run["final_param_l2_drift_without_rtol"].contains("noise"));
  EXPECT_NEAR(run["final_param_l2_rtol"].get<double>(), 5e-4, 1e-9);
  EXPECT_EQ(run["final_param_l2"]["w"], 5.0);
}

// A mean near zero is as exact as the spread of what it averages.
TEST(MeasuredRun, MeasuresARunningMeanByTheSpread) {
  Json run = describeRun(
      {{{1, 1}, {{"bn.running_mean", {1e-9}}, {"bn.running_var", {4}}}},
       {{1, 1}, {{"bn.running_mean", {3e-9}}, {"bn.running_var", {4}}}}});
  EXPECT_TRUE(run["final_param_l2_drift_without_rtol"].empty());
}

TEST(MeasuredRun, HasNormsOfEuclid) { EXPECT_EQ(normOf({3, 4}), 5); }
