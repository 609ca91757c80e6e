// What a key says of its value.

#include "recipe/field.h"

#include <gtest/gtest.h>

using namespace gradus::recipe;
using enum Kind;

TEST(Field, HasOneDefaultUnlessAFrameworkHasAnother) {
  const Field field = Field{"epsilon", number, "1e-6", "a number"}.under(
      {"mindspore", "singa"}, "0.0");
  EXPECT_EQ(field.fallbackUnder("pytorch"), "1e-6");
  EXPECT_EQ(field.fallbackUnder("mindspore"), "0.0");
  EXPECT_EQ(field.fallbackUnder("singa"), "0.0");
}

TEST(Field, IsChangedInACopy) {
  const Field plain = {"p", number, "0.5", "a part"};
  const Field bounded = plain.from(0).below(1);
  EXPECT_EQ(plain.range.limit, NumberRange::kNone);
  EXPECT_EQ(bounded.range.minimum, 0);
  EXPECT_EQ(bounded.range.limit, 1);
  EXPECT_EQ(bounded.key, "p");
}

TEST(Field, OfFrameworksMayBeNullForAPartAlone) {
  EXPECT_FALSE(compatKey().nullable());
  EXPECT_TRUE(compat("instead of the recipe's").nullable());
  EXPECT_EQ(compat("").choices.size(), compatKey().choices.size());
}
