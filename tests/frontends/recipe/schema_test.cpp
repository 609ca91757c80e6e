// The JSON schema is made from the same table that validates.

#include "frontends/recipe/recipe.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using nlohmann::json;

static const json kSchema = json::parse(gradus::recipe::schema());

TEST(RecipeSchema, DescribesEveryKeyOfTheDefaultRecipe) {
  json recipe = json::parse(gradus::recipe::readFile("")->json);
  for (const auto &[key, value] : recipe.items())
    EXPECT_TRUE(kSchema["properties"].contains(key)) << key;
  // Those of plug-ins, the key that is said where it is not the default, and
  // the one by which editors find the schema.
  EXPECT_EQ(recipe.size() + 3, kSchema["properties"].size());
  EXPECT_EQ(kSchema["properties"]["convolutions"]["default"], "auto");
  EXPECT_EQ(kSchema["properties"]["plugins"]["additionalProperties"], true);
  EXPECT_EQ(kSchema["properties"]["$schema"]["type"], "string");
}

TEST(RecipeSchema, RefusesOtherKeys) {
  EXPECT_EQ(kSchema["additionalProperties"], false);
  EXPECT_EQ(kSchema["properties"]["inputs"]["additionalProperties"], false);
}

TEST(RecipeSchema, StatesRangesAndDefaults) {
  const json &sgd = kSchema["$defs"]["optimizer"]["anyOf"][1]["properties"];
  EXPECT_EQ(sgd["learning_rate"]["minimum"], 0);
  EXPECT_EQ(sgd["learning_rate"]["default"], 0.001);
  EXPECT_EQ(sgd["type"]["const"], "sgd");
  const json &clip = kSchema["properties"]["clip"]["anyOf"][0]["anyOf"][0];
  EXPECT_EQ(clip["anyOf"][1]["properties"]["value"]["exclusiveMinimum"], 0);
}

TEST(RecipeSchema, SaysWhichNumbersMayBeSetWhileTraining) {
  const json &adamw = kSchema["$defs"]["optimizer"]["anyOf"][3]["properties"];
  EXPECT_EQ(adamw["type"]["const"], "adamw");
  EXPECT_EQ(adamw["learning_rate"]["settable"], true);
  EXPECT_EQ(adamw["betas"]["settable"], true);
  EXPECT_FALSE(adamw["amsgrad"].contains("settable"));
  EXPECT_FALSE(kSchema["properties"]["dropout"].contains("settable"));
}

TEST(RecipeSchema, DescribesWhatSeveralKeysShareOnce) {
  const json &group = kSchema["properties"]["groups"]["items"]["properties"];
  EXPECT_EQ(group["optimizer"]["anyOf"][0]["$ref"], "#/$defs/optimizer");
  const json &pieces = kSchema["properties"]["schedule"]["properties"];
  for (std::string key : {"learning_rate", "weight_decay"})
    EXPECT_EQ(pieces[key]["items"]["$ref"], "#/$defs/piece");
}

TEST(RecipeSchema, HasTheValuesThatTheReaderAccepts) {
  const json &field =
      kSchema["properties"]["distribution"]["anyOf"][0]["properties"]["reduce"];
  const json &listed = field["enum"];
  for (std::string name : {"plain", "adasum", "partial", "median"}) {
    bool reads = gradus::recipe::read("{}", "", {"distribution.reduce=" + name})
                     .status()
                     .ok();
    EXPECT_EQ(std::count(listed.begin(), listed.end(), name), reads) << name;
  }
}

// thor is short for several keys of the recipe, and so no group has it.
TEST(RecipeSchema, HasThorForTheRecipesOptimizerAlone) {
  EXPECT_EQ(kSchema["properties"]["optimizer"]["$ref"],
            "#/$defs/optimizer_of_recipe");
  auto names = [](const char *definition) {
    return kSchema["$defs"][definition]["anyOf"][0]["enum"].get<json>();
  };
  json all = names("optimizer");
  all.push_back("thor");
  EXPECT_EQ(names("optimizer_of_recipe"), all);
}

TEST(RecipeSchema, DescribesShortForms) {
  const json &boost = kSchema["properties"]["boost"]["anyOf"];
  EXPECT_EQ(boost[0]["type"], "object");
  EXPECT_EQ(boost[1]["enum"], json::parse(R"(["O0", "O1", "O2"])"));
  const json &common = boost[0]["properties"]["common"]["properties"];
  const json &places = common["gradient_split_groups"]["anyOf"][0]["anyOf"];
  EXPECT_EQ(places[0]["type"], "array");
  EXPECT_EQ(places[1]["type"], "integer");
  const json &shared = kSchema["properties"]["distribution"]["anyOf"];
  EXPECT_EQ(shared[1]["enum"], json::parse(R"(["none", "data_parallel"])"));
  const json &within =
      shared[0]["properties"]["adasum"]["properties"]["within"]["anyOf"];
  EXPECT_EQ(within[0]["type"], "integer");
  EXPECT_EQ(within[1]["const"], "host");
  const json &method = kSchema["properties"]["less_bn"]["anyOf"];
  EXPECT_EQ(method[0]["anyOf"][1]["type"], "boolean");
  EXPECT_EQ(method[1]["type"], "null");
}

// true says nothing of which one, so that clip has false alone.
TEST(RecipeSchema, DescribesHowVariantsAreSwitchedOff) {
  const json &clip = kSchema["properties"]["clip"]["anyOf"][0]["anyOf"];
  EXPECT_EQ(clip[1], json::parse(R"({"const": false})"));
}
