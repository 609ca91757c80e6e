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
  EXPECT_EQ(recipe.size(), kSchema["properties"].size());
}

TEST(RecipeSchema, RefusesOtherKeys) {
  EXPECT_EQ(kSchema["additionalProperties"], false);
  EXPECT_EQ(kSchema["properties"]["inputs"]["additionalProperties"], false);
}

TEST(RecipeSchema, StatesRangesAndDefaults) {
  const json &sgd =
      kSchema["properties"]["optimizer"]["anyOf"][1]["properties"];
  EXPECT_EQ(sgd["learning_rate"]["minimum"], 0);
  EXPECT_EQ(sgd["learning_rate"]["default"], 0.001);
  EXPECT_EQ(sgd["type"]["const"], "sgd");
}

TEST(RecipeSchema, SaysWhatIsNotBuiltYet) {
  EXPECT_EQ(kSchema["properties"]["accumulation"]["description"],
            "batches whose gradients are summed before an update (not built "
            "yet: only 1 is)");
}

TEST(RecipeSchema, TakesTheValuesThatTheReaderTakesAndNamesTheOthers) {
  const json &field = kSchema["properties"]["precision"];
  const json &taken = field["enum"];
  std::string help = field["description"];
  for (std::string name : {"f32", "bf16", "f16"}) {
    bool reads =
        gradus::recipe::read("{}", "", {"precision=" + name}).status().ok();
    EXPECT_EQ(std::count(taken.begin(), taken.end(), name), reads) << name;
    size_t unbuilt = help.find("(not built yet: ");
    EXPECT_EQ(help.find(" " + name, unbuilt) == help.npos, reads) << help;
  }
}
