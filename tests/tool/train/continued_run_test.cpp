// What a run that goes on is given, beside what its checkpoint says.

#include "tool/failure.h"
#include "tool/train/continued_run.h"

#include <gmock/gmock.h>

using namespace gradus::cli;
using testing::HasSubstr;

namespace {

std::optional<TrainingRecord> trained(double validation) {
  TrainingRecord record;
  record.seed = 7;
  record.samples = 100;
  record.batch = 10;
  record.validation = validation;
  return record;
}

TrainOptions with(double validation) {
  TrainOptions options;
  options.session.resume = "c.safetensors";
  options.test.validation = validation;
  return options;
}

/// What is warned of where `change` differs from the record.
template <typename Change> std::string warningsOf(Change change) {
  TrainingRecord before = *trained(0), now = before;
  change(now);
  testing::internal::CaptureStderr();
  warnOfOthers(before, now);
  return testing::internal::GetCapturedStderr();
}

} // namespace

TEST(ContinuedRun, KeepsThePartForTestsOfItsCheckpoint) {
  EXPECT_EQ(partForTests(with(0), trained(0.25), 7), 0.25);
  EXPECT_EQ(partForTests(with(0.25), trained(0.25), 7), 0.25);
  EXPECT_EQ(partForTests(with(0.5), std::nullopt, 7), 0.5);
}

TEST(ContinuedRun, TestsOnNothingThatWasTrainedOn) {
  EXPECT_THROW(partForTests(with(0.5), trained(0.25), 7), Failure);
  EXPECT_THROW(partForTests(with(0), trained(0.25), 8), Failure);
}

TEST(ContinuedRun, WarnsWhereSamplesForTestsAreTrainedOn) {
  TrainOptions options = with(0);
  options.test.data = {"test.npz"};
  testing::internal::CaptureStderr();
  EXPECT_EQ(partForTests(options, trained(0.25), 7), 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("what it kept for tests is trained on, too"));
}

TEST(ContinuedRun, WarnsOfWhatIsOtherThanBefore) {
  EXPECT_EQ(warningsOf([](TrainingRecord &) {}), "");
  EXPECT_THAT(warningsOf([](TrainingRecord &now) { now.seed = 8; }),
              HasSubstr("warning: the checkpoint was trained with seed 7, now "
                        "it is 8: this run goes on otherwise"));
  EXPECT_THAT(warningsOf([](TrainingRecord &now) { now.samples = 90; }),
              HasSubstr("a number of samples of 100, now it is 90:"));
  EXPECT_THAT(warningsOf([](TrainingRecord &now) { now.batch = 5; }),
              HasSubstr("a batch of 10, now it is 5:"));
  EXPECT_THAT(warningsOf([](TrainingRecord &now) { now.passes = {"a:b"}; }),
              HasSubstr("added passes none, now they are a:b:"));
  EXPECT_EQ(warningsOf([](TrainingRecord &now) { now.plan = "cpu"; }), "")
      << "the checkpoint does not say its plan";
  EXPECT_EQ(warningsOf([](TrainingRecord &now) { now.recipe = {{"clip", 1}}; }),
            "")
      << "the checkpoint does not say its recipe";
}

TEST(ContinuedRun, WarnsOfAnotherPlan) {
  TrainingRecord before = *trained(0), now = before;
  before.plan = "cpu:x86-64-v4";
  now.plan = "cpu:x86-64-v3";
  testing::internal::CaptureStderr();
  warnOfOthers(before, now);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "warning: the checkpoint was trained with the plan cpu:x86-64-v4, "
            "now it is cpu:x86-64-v3: this run goes on otherwise than that one "
            "would have\n");
}

TEST(ContinuedRun, WarnsOfAnotherRecipe) {
  TrainingRecord before = *trained(0), now = before;
  before.recipe = {{"optimizer", {{"learning_rate", 0.01}}}};
  now.recipe = {{"optimizer", {{"learning_rate", 0.5}}}};
  testing::internal::CaptureStderr();
  warnOfOthers(before, now);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "warning: the checkpoint was trained with another recipe "
            "(optimizer.learning_rate 0.01, now 0.5): this run goes on "
            "otherwise than that one would have\n");
}

TEST(ContinuedRun, IsTheSameOnOtherRanksWithTheSameBatchOfAll) {
  TrainingRecord before = *trained(0), now = before;
  now.ranks = 1;
  before.ranks = 2;
  before.recipe = {{"inputs", {{"dims", {{"n", 5}, {"seq", 10}}}}}};
  now.recipe = {{"inputs", {{"dims", {{"n", 10}, {"seq", 10}}}}}};
  auto warnings = [&] {
    testing::internal::CaptureStderr();
    warnOfOthers(before, now);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(warnings(), "") << "two ranks of 5, then one of 10";
  std::swap(before, now);
  EXPECT_EQ(warnings(), "") << "and back";
  now.recipe["inputs"]["dims"]["seq"] = 20;
  EXPECT_THAT(warnings(), HasSubstr("(inputs.dims.seq 10, now 20)"));
  now = before;
  now.ranks = 2;
  now.batch = 20;
  EXPECT_EQ(warnings(),
            "warning: the checkpoint was trained with a batch of 10, now it is "
            "20: this run goes on otherwise than that one would have\n")
      << "another rank with the same artifact";
}

/// As checkpoints have it from before that number was written.
TEST(ContinuedRun, KnowsNotHowManyRanksThereWere) {
  TrainingRecord before = *trained(0), now = before;
  before.ranks = 0;
  now.ranks = 2;
  now.recipe = {{"inputs", {{"dims", {{"n", 5}, {"seq", 10}}}}}};
  auto warnings = [&](int64_t batch) {
    before.recipe = {{"inputs", {{"dims", {{"n", batch}, {"seq", 10}}}}}};
    testing::internal::CaptureStderr();
    warnOfOthers(before, now);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(warnings(5), "") << "two ranks of 5";
  EXPECT_EQ(warnings(10), "") << "one of 10";
  EXPECT_THAT(warnings(4), HasSubstr("(inputs.dims.n 4, now 5)"));
}

TEST(ContinuedRun, TakesAnotherBatchForNoOtherRecipe) {
  TrainingRecord before = *trained(0), now = before;
  now.batch = 5;
  before.recipe = {{"inputs", {{"dims", {{"n", 10}, {"seq", 5}}}}}};
  now.recipe = {{"inputs", {{"dims", {{"n", 5}, {"seq", 5}}}}}};
  testing::internal::CaptureStderr();
  warnOfOthers(before, now);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "warning: the checkpoint was trained with a batch of 10, now it is "
            "5: this run goes on otherwise than that one would have\n");
}
