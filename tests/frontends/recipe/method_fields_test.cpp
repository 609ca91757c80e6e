// The keys that switch training methods on.

#include "frontends/recipe/recipe.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace gradus::recipe;
using nlohmann::json;

static json accepted(std::string_view text, const Overrides &overrides = {}) {
  auto recipe = read(text, "r.json", overrides);
  EXPECT_TRUE(recipe.ok()) << recipe.status();
  return recipe.ok() ? json::parse(recipe->json) : json();
}

TEST(MethodFields, AreSwitchedByTrueAndFalse) {
  for (const char *key :
       {"less_bn", "fc_to_fn", "gradient_centralization", "gradient_freeze"}) {
    EXPECT_EQ(accepted("{}")[key], nullptr) << key;
    std::string setting = std::string(key) + "=";
    EXPECT_TRUE(accepted("{}", {setting + "true"})[key].is_object()) << key;
    EXPECT_EQ(accepted("{}", {setting + "true", setting + "false"})[key],
              false);
    EXPECT_EQ(accepted("{}", {setting + "null"})[key], nullptr);
  }
}

TEST(MethodFields, AreSetOverTheirShortForms) {
  for (const char *was : {"true", "false", "null", "{}"}) {
    json recipe =
        accepted(std::string(R"({"gradient_centralization": )") + was + "}",
                 {"gradient_centralization.placement=after_weight_decay"});
    EXPECT_EQ(recipe["gradient_centralization"]["placement"],
              "after_weight_decay")
        << was;
  }
  json recipe = accepted(R"({"boost": "O1", "optimizer": "sgd"})",
                         {"boost.compat=mindspore", "optimizer.momentum=0.5"});
  EXPECT_EQ(recipe["boost"]["level"], "O1");
  EXPECT_EQ(recipe["gradient_freeze"]["compat"], "mindspore");
  EXPECT_EQ(recipe["optimizer"]["type"], "sgd");
}

TEST(MethodFields, HaveDefaults) {
  json recipe = accepted(
      R"({"fc_to_fn": true, "gradient_centralization": {}, "less_bn": {}})");
  EXPECT_EQ(recipe["fc_to_fn"],
            json::parse(R"({"epsilon": 1e-4, "bias": false})"));
  EXPECT_EQ(
      recipe["gradient_centralization"],
      json::parse(
          R"({"placement": null, "kinds": ["convolution", "dense"], "compat": null})"));
  EXPECT_EQ(recipe["less_bn"], json::parse(R"({"keep": []})"));
}

TEST(MethodFields, RefuseWhatTheyDoNotKnow) {
  auto recipe =
      read(R"({"gradient_centralization": {"kinds": ["norm"]}})", "r");
  EXPECT_EQ(
      recipe.status().message(),
      "r: gradient_centralization.kinds.0: unknown value \"norm\"; known: "
      "convolution, dense, embedding");
}
