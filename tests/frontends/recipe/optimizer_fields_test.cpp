// Optimizers, schedules and groups as they stand in a recipe.

#include "frontends/recipe/recipe.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using nlohmann::json;

/// A recipe with all defaults filled in; null where it is refused.
static json filled(const std::string &recipe) {
  auto read = gradus::recipe::read(recipe, "r.json");
  return read.ok() ? json::parse(read->json) : json();
}

TEST(OptimizerFields, HaveTheDefaultsOfPyTorch) {
  json adam = filled(R"({"optimizer": "adam"})")["optimizer"];
  EXPECT_EQ(adam["learning_rate"], 0.001);
  EXPECT_EQ(adam["weight_decay"], 0.0);
  EXPECT_EQ(filled(R"({"optimizer": "adamw"})")["optimizer"]["weight_decay"],
            0.01);
  EXPECT_EQ(filled(R"({"optimizer": "rmsprop"})")["optimizer"]["decay_rate"],
            0.99);
}

TEST(OptimizerFields, GiveAGroupAnOptimizerOfItsOwn) {
  json recipe = filled(
      R"({"groups": [{"match": ["head.*"], "optimizer": {"type": "lion"}}]})");
  EXPECT_EQ(recipe["groups"][0]["optimizer"]["learning_rate"], 0.0001);
  EXPECT_FALSE(recipe["groups"][0]["frozen"]);
}

TEST(OptimizerFields, LeaveMuonSomethingForTheRest) {
  json muon = filled(R"({"optimizer": "muon"})")["optimizer"];
  EXPECT_EQ(muon["others"]["type"], "adamw");
}

TEST(OptimizerFields, ScheduleWhatChanges) {
  json recipe = filled(R"({"optimizer": "sgd", "schedule": {"momentum":
      [{"type": "one_cycle", "rest": true}],
      "learning_rate": [{"type": "linear_warmup", "steps": 5},
                        {"type": "cosine_restarts", "growth": 2}]}})");
  EXPECT_EQ(recipe["schedule"]["momentum"][0]["rise"], 0.3);
  EXPECT_TRUE(recipe["schedule"]["learning_rate"][1]["steps"].is_null());
  EXPECT_TRUE(filled(R"({"schedule": {"nesterov": ["constant"]}})").is_null());
}
