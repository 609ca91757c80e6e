// The table of recipe keys is sound: every default is a value of its own field.

#include "frontends/recipe/fields.h"
#include "frontends/recipe/recipe.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace gradus::recipe;

static void visit(const Field &field) {
  EXPECT_FALSE(field.help.empty()) << field.key;
  EXPECT_TRUE(nlohmann::json::accept(field.fallback)) << field.key;
  EXPECT_EQ(field.kind == Kind::choice || field.kind == Kind::variant,
            !field.choices.empty())
      << field.key;
  for (const Field &inner : field.fields)
    visit(inner);
  for (const Choice &choice : field.choices)
    for (const Field &inner : choice.fields)
      visit(inner);
}

TEST(RecipeFields, SayWhatTheyAreFor) { visit(recipeField()); }

TEST(RecipeFields, HaveDefaultsThatAreBuilt) {
  auto recipe = readFile("");
  EXPECT_TRUE(recipe.ok()) << recipe.status();
}
