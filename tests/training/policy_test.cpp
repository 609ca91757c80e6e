// What a run by itself does at its borders.

#include "tests/training/adding.h"
#include "training/policy.h"

#include <gmock/gmock.h>

#include <unistd.h>

using namespace gradus::training;
using Due = Decision::Test;
using Then = Decision::Then;

namespace {

Policy testing4(int64_t patience = 0) {
  return {{.testEvery = 4,
           .best = *BestMetric::parse("loss"),
           .patience = patience},
          nullptr};
}

Decision judged(Policy &policy, int64_t step, double loss) {
  std::vector<Metric> figures = {{"loss", loss}};
  Border border;
  border.step = step;
  border.tested = &figures;
  return policy.atBorder(border);
}

} // namespace

TEST(Policy, TestsAtItsIntervalAndAtTheEnd) {
  Policy policy = testing4();
  EXPECT_EQ(policy.atBorder({.step = 3}).test, Due::none);
  EXPECT_EQ(policy.atBorder({.step = 8}).test, Due::due);
  EXPECT_EQ(policy.atBorder({.step = 9, .isLast = true}).test, Due::atEnd);
  EXPECT_EQ(policy.stepsToRun(9, 100), 3);
  Policy none({}, nullptr);
  EXPECT_EQ(none.atBorder({.step = 9, .isLast = true}).test, Due::none);
}

TEST(Policy, KeepsTheBestAndStopsWhereNoneIsBetter) {
  Policy policy = testing4(/*patience=*/2);
  EXPECT_TRUE(judged(policy, 4, 0.5).isBest);
  Decision worse = judged(policy, 8, 0.6);
  EXPECT_FALSE(worse.isBest);
  EXPECT_EQ(worse.then, Then::goOn);
  EXPECT_EQ(judged(policy, 12, 0.7).then, Then::finish);
  EXPECT_TRUE(policy.isStopped());
  EXPECT_EQ(policy.bestText(), "loss 0.5000 of step 4");
}

TEST(Policy, CountsNoTestThatALongerRunWouldNotHave) {
  Policy policy = testing4(/*patience=*/1);
  judged(policy, 4, 0.5);
  Decision atEnd = judged(policy, 6, 0.4);
  EXPECT_TRUE(atEnd.isBest);
  TrainingRecord record;
  policy.addTo(record);
  EXPECT_EQ(record.best["step"], 4);
  EXPECT_EQ(record.bestAtEnd["step"], 6);
  judged(policy, 7, 0.9);
  EXPECT_FALSE(policy.isStopped());
}

TEST(Policy, GoesOnFromARecord) {
  Policy policy = testing4(/*patience=*/2), resumed = testing4(/*patience=*/2);
  judged(policy, 4, 0.5);
  judged(policy, 8, 0.6);
  TrainingRecord record;
  policy.addTo(record);
  resumed.restore(record);
  EXPECT_FALSE(judged(resumed, 12, 0.55).isBest);
  EXPECT_TRUE(resumed.isStopped());
}

TEST(Policy, SavesWhereACheckpointIsDue) {
  gradus::test::Adding adding;
  CheckpointOptions options;
  options.path = gradus::test::temporaryPath("policy.safetensors");
  options.every = "3steps";
  Checkpoints checkpoints = *Checkpoints::create(*adding.session, options, 10);
  Policy policy({}, &checkpoints);
  EXPECT_TRUE(policy.atBorder({.step = 6}).save);
  EXPECT_FALSE(policy.atBorder({.step = 7}).save);
  EXPECT_EQ(policy.stepsToRun(7, 100), 2);
}
