// Which names a pattern stands for.

#include "recipe/patterns.h"

#include <gtest/gtest.h>

using namespace gradus;
using Texts = std::vector<std::string>;

TEST(Patterns, StandForTheirOwnTextWithoutAStar) {
  EXPECT_TRUE(matchesPattern("fc1.weight", "fc1.weight"));
  EXPECT_FALSE(matchesPattern("fc1.weight", "fc1.weights"));
  EXPECT_FALSE(matchesPattern("fc1.weight", "fc1"));
  EXPECT_TRUE(matchesPattern("", ""));
  EXPECT_FALSE(matchesPattern("", "a"));
}

TEST(Patterns, HaveStarsForAnyText) {
  for (const char *name : {"", "a", "fc1.weight"})
    EXPECT_TRUE(matchesPattern("*", name)) << name;
  EXPECT_TRUE(matchesPattern("fc*", "fc"));
  EXPECT_TRUE(matchesPattern("*.weight", "fc1.weight"));
  EXPECT_TRUE(matchesPattern("a*b*c", "aXbYbZc"));
  EXPECT_TRUE(matchesPattern("a**c", "abc"));
  EXPECT_FALSE(matchesPattern("a*b*c", "acb"));
  EXPECT_FALSE(matchesPattern("*.weight", "fc1.weight.scale"));
  EXPECT_TRUE(matchesPattern("*.weight", "fc1.weight.weight"));
}

TEST(Patterns, HaveNoOtherSpecialCharacter) {
  for (const char *name :
       {"params['dense'].w", "layer[0]", "what?", "a{b,c}", R"(a\b)"}) {
    EXPECT_TRUE(matchesPattern(name, name)) << name;
    EXPECT_FALSE(isOpenPattern(name)) << name;
  }
  EXPECT_FALSE(matchesPattern("layer?", "layer1"));
  EXPECT_FALSE(matchesPattern("layer[01]", "layer1"));
  EXPECT_TRUE(isOpenPattern("params['*'].w"));
  EXPECT_TRUE(matchesPattern("params['*'].w", "params['dense'].w"));
}

TEST(Patterns, TakeTimeInTheirLengthTimesTheNames) {
  std::string pattern, name(3000, 'a');
  for (int i = 0; i < 1000; ++i)
    pattern += "*a";
  EXPECT_FALSE(matchesPattern(pattern + "b", name));
  EXPECT_TRUE(matchesPattern(pattern, name));
}

TEST(NamePatterns, MatchWhatOneOfThemStandsFor) {
  NamePatterns patterns(Texts{"conv*", "fc.bias"});
  EXPECT_TRUE(patterns.match("conv1.weight"));
  EXPECT_TRUE(patterns.match("fc.bias"));
  EXPECT_FALSE(patterns.match("fc.weight"));
  EXPECT_FALSE(NamePatterns().match("fc.weight"));
  EXPECT_EQ(patterns.texts(), (Texts{"conv*", "fc.bias"}));
}
