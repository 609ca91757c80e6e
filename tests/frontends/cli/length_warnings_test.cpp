// Schedules and averages that do not fit the length of a run.

#include "frontends/cli/length_warnings.h"

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
                          "value holds"));
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
  EXPECT_THAT(lengthWarnings(pieces(R"([{"type": "state"}])"), 9), IsEmpty());
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

TEST(LengthWarnings, NeedNoRecipe) {
  EXPECT_THAT(lengthWarnings(json::object(), 9), IsEmpty());
  EXPECT_THAT(lengthWarnings({{"schedule", json::array({1})}}, 9), IsEmpty());
  EXPECT_THAT(lengthWarnings(pieces("[1, null]"), 9), IsEmpty());
}
