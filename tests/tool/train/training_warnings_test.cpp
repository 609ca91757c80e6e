// Steps that were skipped, and batches that made no update.

#include "tests/tool/adder.h"
#include "tool/train/training_warnings.h"

#include <gmock/gmock.h>

using namespace gradus::cli;
using testing::HasSubstr;

namespace {

void setCounter(gradus::runtime::Session &session, const char *name,
                int64_t value) {
  ASSERT_TRUE(session.writeState(name, &value, sizeof(value)).ok());
}

/// The counter `step` of the artifact under another name, and a recipe.
gradus::test::TestArtifact counting(const char *name, const char *recipe) {
  gradus::test::TestArtifact artifact;
  for (auto &state : artifact.header.states)
    if (state->name == "step")
      state->name = name;
  artifact.header.recipe = recipe;
  return artifact;
}

} // namespace

TEST(TrainingWarnings, SayWhereEveryStepWasSkipped) {
  Adder adder(counting("skipped_steps", "{}"));
  auto session = adder.open();
  SkippedSteps skipped(*session);
  setCounter(*session, "skipped_steps", 5);
  EXPECT_THAT(skipped.allOf(5), HasSubstr("all 5 steps were skipped"));
  setCounter(*session, "skipped_steps", 9);
  EXPECT_EQ(skipped.allOf(5), "") << "one was not";
  EXPECT_EQ(skipped.allOf(0), "");
}

TEST(TrainingWarnings, SayWhichBatchesMadeNoUpdate) {
  Adder adder(counting("accepted_steps", R"({"accumulation": 4})"));
  auto session = adder.open();
  setCounter(*session, "accepted_steps", 8);
  EXPECT_EQ(unappliedBatches(*session), "");
  setCounter(*session, "accepted_steps", 10);
  EXPECT_THAT(unappliedBatches(*session),
              HasSubstr("the last 2 batches have changed no weight: one update "
                        "takes 4 (accumulation)"));
}

TEST(TrainingWarnings, TakeForNoAccumulationWhatIsNone) {
  for (const char *recipe :
       {R"({"accumulation": 0})", R"({"accumulation": null})", R"([[[)"}) {
    Adder adder(counting("accepted_steps", recipe));
    auto session = adder.open();
    setCounter(*session, "accepted_steps", 10);
    EXPECT_EQ(unappliedBatches(*session), "") << recipe;
  }
}

TEST(TrainingWarnings, NeedNoCounters) {
  Adder adder;
  auto session = adder.open();
  EXPECT_EQ(SkippedSteps(*session).allOf(3), "");
  EXPECT_EQ(unappliedBatches(*session), "");
}
