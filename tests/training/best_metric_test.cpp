// Which test figure is the best, and how long none was better.

#include "training/best_metric.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace gradus::training;

namespace {

bool update(BestMetric &best, double value, int64_t step) {
  return best.update({{"loss", 9}, {best.name(), value}}, step);
}

BestMetric of(const std::string &text) { return *BestMetric::parse(text); }

std::string refusal(const std::string &text) {
  auto best = BestMetric::parse(text);
  return best.ok() ? best->verifyIsAmong({"loss", "accuracy"}).message()
                   : best.status().message();
}

} // namespace

TEST(BestMetric, TakesTheLargerAccuracyAndTheSmallerError) {
  BestMetric accuracy = of("logits_accuracy"), error = of("mae");
  EXPECT_TRUE(update(accuracy, 0.5, 10));
  EXPECT_FALSE(update(accuracy, 0.4, 20));
  EXPECT_TRUE(update(accuracy, 0.6, 30));
  EXPECT_TRUE(update(error, 0.5, 10));
  EXPECT_TRUE(update(error, 0.4, 20));
  EXPECT_EQ(accuracy.text(), "logits_accuracy 0.6000 of step 30");
}

TEST(BestMetric, TakesTheDirectionThatIsSaid) {
  BestMetric best = of("accuracy:min");
  EXPECT_TRUE(update(best, 0.5, 1));
  EXPECT_TRUE(update(best, 0.4, 2));
  EXPECT_FALSE(update(best, 0.4, 3));
}

TEST(BestMetric, CountsEvaluationsThatWereNoBetter) {
  BestMetric best = of("accuracy");
  update(best, NAN, 1);
  EXPECT_EQ(best.stale(), 1);
  update(best, 0.5, 2);
  EXPECT_EQ(best.stale(), 0);
  update(best, 0.5, 3);
  update(best, NAN, 4);
  EXPECT_EQ(best.stale(), 2);
  EXPECT_EQ(best.step(), 2);
}

TEST(BestMetric, GoesOnFromACheckpointOfTheSameMetric) {
  BestMetric best = of("accuracy"), resumed = of("accuracy"),
             other = of("loss"), turned = of("accuracy:min");
  update(best, 0.1, 7);
  update(best, 0.05, 8);
  nlohmann::json json = best.toJson();
  for (BestMetric *each : {&resumed, &other, &turned})
    each->restore(json);
  EXPECT_EQ(resumed.value(), 0.1);
  EXPECT_EQ(resumed.step(), 7);
  EXPECT_EQ(resumed.stale(), 1);
  EXPECT_FALSE(other.value() || turned.value());
}

TEST(BestMetric, BeginsAnewWhereACheckpointHasNone) {
  for (const char *text :
       {"null", "[]", "3", R"({"metric": 5, "larger": true})",
        R"({"metric": "accuracy", "larger": "yes", "value": 1})"}) {
    BestMetric best = of("accuracy");
    best.restore(nlohmann::json::parse(text));
    EXPECT_FALSE(best.value()) << text;
  }
  BestMetric best = of("accuracy");
  best.restore(nlohmann::json::parse(
      R"({"metric": "accuracy", "larger": true, "stale": "x", "step": [], "value": 0.5})"));
  EXPECT_EQ(best.stale(), 0);
  EXPECT_EQ(best.value(), 0.5);
}

TEST(BestMetric, SaysWhatItDoesNotKnow) {
  EXPECT_EQ(refusal("recall"), "recall: evaluation gives loss, accuracy");
  EXPECT_EQ(refusal("loss:up"),
            "loss:up: expected METRIC, METRIC:max or METRIC:min, found "
            "'up' after the colon");
}
