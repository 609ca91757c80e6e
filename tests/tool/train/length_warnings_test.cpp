// Schedules and averages that do not fit the length of a run.

#include "tool/train/length_warnings.h"

#include <gmock/gmock.h>

using namespace gradus::cli;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

/// A recipe whose learning rate has these pieces.
json pieces(const char *text) {
  return {{"schedule", {{"learning_rate", json::parse(text)}}}};
}

const char *const kCosine =
    R"([{"type": "linear_warmup", "steps": 50}, {"type": "cosine", "steps": 150, "every": 1}])";

} // namespace

TEST(LengthWarnings, SayWhereAScheduleEndsBeforeTheRun) {
  EXPECT_THAT(lengthWarnings(pieces(kCosine), 450),
              ElementsAre("the schedule of learning_rate ends at step 200, "
                          "this run has 450 steps: from there on its last "
                          "factor holds"));
}

TEST(LengthWarnings, TellTheFactorThatHolds) {
  EXPECT_THAT(
      lengthWarnings(pieces(R"([{"type": "cosine", "steps": 20, "final": 0}])"),
                     44),
      ElementsAre(HasSubstr("from there on its last factor, 0, holds")));
}

TEST(LengthWarnings, AskForEpochsWhereUpdatesAreTooShort) {
  json stairs = pieces(R"([{"type": "step", "period": 2, "rate": 0.5}])");
  EXPECT_THAT(lengthWarnings(stairs, 264, 44),
              ElementsAre("the schedule of learning_rate falls to 2e-07 within "
                          "the first epoch: its period is 2 updates; "
                          "\"interval\": \"epoch\" makes it count epochs"));
  EXPECT_THAT(lengthWarnings(stairs, 40, 20), IsEmpty());
  EXPECT_THAT(lengthWarnings(stairs, 44, 44), IsEmpty()) << "one epoch";
  json twice = pieces(
      R"([{"type": "step", "period": 2, "rate": 0.5, "interval": "epoch"}])");
  EXPECT_THAT(lengthWarnings(twice, 264, 44), IsEmpty());
  EXPECT_THAT(
      lengthWarnings(
          pieces(R"([{"type": "multi_step", "milestones": [3, 5]}])"), 264, 44),
      ElementsAre("the milestones of the schedule of learning_rate are "
                  "updates, the last one 5, and the first of 6 epochs has 44; "
                  "\"interval\": \"epoch\" makes it count epochs"));
}

TEST(LengthWarnings, SayWhereAScheduleEndsLongAfterTheRun) {
  EXPECT_THAT(lengthWarnings(pieces(kCosine), 88),
              ElementsAre("the schedule of learning_rate ends at step 200, "
                          "this run has 88 steps: what comes later is never "
                          "reached"));
}

TEST(LengthWarnings, AllowForRoundedNumbers) {
  EXPECT_THAT(lengthWarnings(pieces(kCosine), 200), IsEmpty());
  EXPECT_THAT(lengthWarnings(pieces(kCosine), 203), IsEmpty());
  EXPECT_THAT(lengthWarnings(pieces(kCosine), 185), IsEmpty());
}

TEST(LengthWarnings, CountUpdatesAndUnitsAsTheScheduleDoes) {
  json recipe = pieces(R"([{"type": "cosine", "steps": 10, "every": 44}])");
  EXPECT_THAT(lengthWarnings(recipe, 440), IsEmpty());
  recipe["accumulation"] = 2;
  EXPECT_THAT(lengthWarnings(recipe, 880), IsEmpty());
  EXPECT_THAT(lengthWarnings(recipe, 1200),
              ElementsAre(HasSubstr("ends at step 880, this run has 1200")));
  EXPECT_THAT(
      lengthWarnings(pieces(R"([{"type": "list", "values": [1, 0.5, 0]}])"), 9),
      ElementsAre(HasSubstr("ends at step 3, this run has 9")));
}

TEST(LengthWarnings, LetAWarmUpEnd) {
  for (
      const char *pieces :
      {R"([{"type": "linear_warmup", "steps": 50}])",
       R"([{"type": "linear", "steps": 50, "initial": 0.1, "final": 1}])",
       R"([{"type": "cosine", "steps": 50}, {"type": "constant", "steps": 1}])"})
    EXPECT_THAT(lengthWarnings(::pieces(pieces), 450), IsEmpty()) << pieces;
  EXPECT_THAT(
      lengthWarnings(
          pieces(R"([{"type": "linear", "steps": 50, "final": 0.1}])"), 450),
      ElementsAre(HasSubstr("ends at step 50")));
}

TEST(LengthWarnings, SayWhereTheLastOpenPieceIsNeverReached) {
  json recipe = pieces(
      R"([{"type": "linear_warmup", "steps": 500}, {"type": "exponential", "steps": null}])");
  EXPECT_THAT(lengthWarnings(recipe, 5000), IsEmpty());
  EXPECT_THAT(lengthWarnings(recipe, 100),
              ElementsAre("the schedule of learning_rate comes to its last "
                          "piece at step 500, this run has 100 steps: what "
                          "comes later is never reached"));
}

TEST(LengthWarnings, SayWhereAMilestoneIsNeverReached) {
  json recipe = pieces(
      R"([{"type": "multi_step", "steps": null, "milestones": [30, 90]}])");
  EXPECT_THAT(lengthWarnings(recipe, 91), IsEmpty());
  EXPECT_THAT(lengthWarnings(recipe, 88),
              ElementsAre("the last milestone of the schedule of "
                          "learning_rate is at step 90, this run has 88 "
                          "steps: it is never reached"));
  recipe["accumulation"] = 2;
  EXPECT_THAT(lengthWarnings(recipe, 150),
              ElementsAre(HasSubstr("is at step 180, this run has 150")));
}

TEST(LengthWarnings, PassOverAMilestoneBehindTheLastValue) {
  json recipe = pieces(
      R"([{"type": "piecewise", "steps": null, "milestones": [3, 10, 50],
           "values": [1, 0.5, 0.1]}])");
  EXPECT_THAT(lengthWarnings(recipe, 50), IsEmpty());
  EXPECT_THAT(lengthWarnings(recipe, 9),
              ElementsAre(HasSubstr("is at step 10, this run has 9 steps")));
  recipe["schedule"]["learning_rate"][0]["values"] = {1, 0.5, 0.1, 0};
  EXPECT_THAT(lengthWarnings(recipe, 50),
              ElementsAre(HasSubstr("is at step 50, this run has 50 steps")));
}

TEST(LengthWarnings, SayWhereAveragesStayAtTheFirstWeights) {
  json recipe = {{"ema", {{"decay", 0.99}, {"warmup", false}}}};
  EXPECT_THAT(lengthWarnings(recipe, 75),
              ElementsAre(HasSubstr("(ema, decay 0.99) are 48 % those of the "
                                    "first update after the 75 of this run")));
  EXPECT_THAT(lengthWarnings(recipe, 500), IsEmpty());
  recipe["ema"]["warmup"] = true;
  EXPECT_THAT(lengthWarnings(recipe, 75), IsEmpty());
  EXPECT_THAT(lengthWarnings({{"ema", nullptr}}, 1), IsEmpty());
}

TEST(LengthWarnings, SayNothingOfAveragesBeforeTheFirstUpdate) {
  json recipe = {{"ema", {{"decay", 0.99}, {"warmup", false}}},
                 {"accumulation", 8}};
  EXPECT_THAT(lengthWarnings(recipe, 7), IsEmpty());
  EXPECT_THAT(lengthWarnings(recipe, 8), ElementsAre(HasSubstr("the 1 of")));
}

TEST(LengthWarnings, TakeForNoAccumulationWhatIsNone) {
  json recipe = {{"ema", {{"decay", 0.99}, {"warmup", false}}}};
  auto plain = lengthWarnings(recipe, 75);
  for (json none : {json(0), json(-3), json(0.5), json("8"), json()}) {
    recipe["accumulation"] = none;
    EXPECT_EQ(lengthWarnings(recipe, 75), plain) << none;
  }
}

TEST(LengthWarnings, NeedNoRecipe) {
  EXPECT_THAT(lengthWarnings(json::object(), 9), IsEmpty());
  EXPECT_THAT(lengthWarnings({{"schedule", json::array({1})}}, 9), IsEmpty());
  EXPECT_THAT(lengthWarnings(pieces("[1, null]"), 9), IsEmpty());
}
