// The keys of losses: which type has which, and sums of them.

#include "frontends/recipe/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace gradus::recipe;
using nlohmann::json;
using ::testing::HasSubstr;

static json lossOf(const std::string &loss) {
  auto recipe = read("{\"loss\": " + loss + "}", "r.json");
  EXPECT_TRUE(recipe.ok()) << recipe.status();
  return recipe.ok() ? json::parse(recipe->json)["loss"] : json();
}

static std::string refused(const std::string &text) {
  auto recipe = read(text, "r.json");
  EXPECT_FALSE(recipe.ok());
  return std::string(recipe.status().message());
}

TEST(LossFields, HaveDefaultsThatAreThoseOfPyTorch) {
  json loss = lossOf("\"softmax_cross_entropy\"");
  EXPECT_EQ(loss["ignore_index"], -100);
  EXPECT_EQ(loss["reduction"], "mean");
  EXPECT_EQ(loss["class_weights"], nullptr);
  EXPECT_EQ(loss["soft_labels"], false);
  EXPECT_EQ(lossOf("\"smooth_l1\"")["beta"], 1.0);
  EXPECT_EQ(lossOf("\"hinge_embedding\"")["margin"], 1.0);
}

TEST(LossFields, AreThoseOfTheTypeAlone) {
  EXPECT_THAT(refused(R"({"loss": {"type": "l1", "beta": 1}})"),
              HasSubstr("loss.beta: unknown key of l1"));
  EXPECT_THAT(refused(R"({"loss": {"type": "smooth_l2"}})"),
              HasSubstr("did you mean \"smooth_l1\"?"));
  EXPECT_THAT(refused(R"({"loss": {"type": "mse", "reduction": "batchmean"}})"),
              HasSubstr("loss.reduction: unknown value \"batchmean\""));
  EXPECT_THAT(refused(R"({"loss": {"type": "multi_margin", "power": 3}})"),
              HasSubstr("loss.power: expected less than 3"));
}

TEST(LossFields, FillInTheTermsOfASum) {
  json sum = lossOf(
      R"({"type": "sum", "of": ["mse", {"type": "l1", "label": "place"}]})");
  EXPECT_EQ(sum["of"][0]["weight"], 1.0);
  EXPECT_EQ(sum["of"][1]["label"], "place");
  EXPECT_THAT(refused(R"({"loss": {"type": "sum", "of": [{"type": "sum"}]}})"),
              HasSubstr("loss.of.0.type: unknown value \"sum\""));
}

TEST(LossFields, SayWhereAccuracyIsKnown) {
  const std::string terms =
      R"("of": ["mse", "nll"]}, "metrics": ["accuracy"]})";
  EXPECT_TRUE(read(R"({"loss": {"type": "sum", )" + terms, "r.json").ok());
  EXPECT_THAT(
      refused(R"({"loss": {"type": "softmax_cross_entropy",
                           "soft_labels": true}, "metrics": ["accuracy"]})"),
      HasSubstr("metrics: \"accuracy\" needs labels that are classes, but "
                "loss.type is \"softmax_cross_entropy\""));
}
