// What JSON would read as something else is refused.

#include "frontends/recipe/strict_json.h"

#include <gtest/gtest.h>

using namespace gradus::recipe;

static std::string refused(std::string_view text) {
  auto value = parseStrictly(text);
  EXPECT_FALSE(value.ok()) << text;
  return std::string(value.status().message());
}

TEST(StrictJson, RefusesWhatWouldBeLost) {
  EXPECT_EQ(refused(R"({"a": {"b": 1, "b": 2}})"),
            "the key \"b\" stands twice");
  EXPECT_EQ(refused(R"([1e-999])"),
            "the number 1e-999 would be read as 0; write 0");
  EXPECT_EQ(refused(std::string(40, '[') + std::string(40, ']')),
            "nested deeper than 32 levels");
}

TEST(StrictJson, TakesEqualKeysOfTwoObjects) {
  auto value = parseStrictly(R"([{"a": 1}, {"a": 0e-999}])");
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ((*value)[0]["a"], 1);
}

TEST(StrictJson, FindsNumbersThatVanish) {
  EXPECT_EQ(vanishingNumber("[0, 0.0e5, 1e-3, \"1e-999\"]"), "");
  EXPECT_EQ(vanishingNumber("[0, 2.5e-999]"), "2.5e-999");
}

TEST(StrictJson, ShowsTheBeginningOfLongValues) {
  EXPECT_EQ(shown(std::string(200, 'a')), "\"" + std::string(99, 'a') + "...");
  EXPECT_EQ(inQuotes("a"), "\"a\"");
}
