#include "passes/recipe.h"

#include "program_text.h"

using namespace gradus;
using gradus::testing::PassText;

static const char *const text = R"(
gradus.program @p attributes {recipe = {seed = 7 : i64, deterministic = true,
    optimizer = {type = "adamw", betas = [9.0e-1, 9.9e-1], epsilon = "small"}}} {})";

TEST(Recipe, GivesWhatIsThereAndDefaultsForTheRest) {
  PassText source(text);
  RecipeObject recipe = recipeOf(source.program());
  EXPECT_EQ(recipe.integer("seed", 0), 7);
  EXPECT_TRUE(recipe.flag("deterministic", false));
  EXPECT_EQ(recipe.object("optimizer").text("type", ""), "adamw");
  EXPECT_EQ(recipe.object("optimizer").numbers("betas", {})[1], 0.99);
  EXPECT_EQ(recipe.object("optimizer").number("weight_decay", 0.5), 0.5);
  EXPECT_FALSE(recipe.has("loss"));
  EXPECT_TRUE(source.messages.empty()) << source.messages;
}

TEST(Recipe, NamesTheKeyOfTheWrongKind) {
  PassText source(text);
  recipeOf(source.program()).object("optimizer").number("epsilon", 1);
  EXPECT_NE(source.messages.find("recipe: optimizer.epsilon"),
            std::string::npos)
      << source.messages;
}

TEST(Recipe, ListsTheNearestNameFirst) {
  EXPECT_EQ(nearestFirst("logit", {"hidden", "logits"}).find("logits"), 0u);
  EXPECT_EQ(nearestFirst("LOGIT", {"hidden", "logits"}), "logits, hidden");
}

TEST(Recipe, WatchSeesErrorsAndLetsThemPassOn) {
  PassText source(text);
  ErrorWatch watch(&source.context);
  recipeOf(source.program()).warning("seed") << "is odd";
  EXPECT_FALSE(watch.sawError());
  recipeOf(source.program()).object("optimizer").number("epsilon", 1);
  EXPECT_TRUE(watch.sawError());
  EXPECT_NE(source.messages.find("recipe: optimizer.epsilon"),
            std::string::npos);
}
