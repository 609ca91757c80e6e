// Numbers that options take, and the words for others.

#include "tool/number_options.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

TEST(NumberOptions, TakeWholeNumbersThatFit) {
  auto words = [](std::string text) { return wholeNumber(0, 1024)(text); };
  for (const char *text : {"0", "10", "1024"})
    EXPECT_EQ(words(text), "") << text;
  EXPECT_EQ(words("1025"),
            "expected a whole number of at most 1024, found 1025");
  for (const char *text : {"010", "0x10", "1_0", "1'0", "+1", " 1", "1.0", ""})
    EXPECT_EQ(words(text), std::string("expected a whole number of 0 or more, "
                                       "found ") +
                               text);
}

TEST(NumberOptions, TakeNoNumberThatWouldBeCutOff) {
  auto seed = [](std::string text) {
    return wholeNumber(0, std::numeric_limits<uint64_t>::max())(text);
  };
  EXPECT_EQ(seed("18446744073709551615"), "");
  for (const char *text : {"18446744073709551616", "99999999999999999999999"})
    EXPECT_EQ(seed(text), std::string("expected a whole number of at most "
                                      "18446744073709551615, found ") +
                              text);
  EXPECT_EQ(positive()("9223372036854775808"),
            "expected a whole number of at most 9223372036854775807, found "
            "9223372036854775808");
}

TEST(NumberOptions, TakeSecondsWithoutAUnit) {
  auto words = [](std::string text) {
    return secondsBetween(0.01, 3600)(text);
  };
  for (const char *text : {"0.01", "1", "3600", "1e3"})
    EXPECT_EQ(words(text), "") << text;
  for (const char *text : {"0", "-1", "3601", "2s", "nan", "inf", ""})
    EXPECT_EQ(words(text), std::string("expected a number of seconds from 0.01 "
                                       "to 3600, found ") +
                               text);
}

TEST(NumberOptions, CountFromOne) {
  auto words = [](std::string text) { return positive()(text); };
  EXPECT_EQ(words("1"), "");
  EXPECT_EQ(words("0"), "expected a whole number of 1 or more, found 0");
  EXPECT_EQ(words("two"), "expected a whole number of 1 or more, found two");
}

TEST(NumberOptions, TakeAPartOfAWhole) {
  auto words = [](std::string text) { return betweenZeroAndOne()(text); };
  for (const char *text : {"0.1", "1e-6", "0.999"})
    EXPECT_EQ(words(text), "") << text;
  for (const char *text : {"0", "1", "-0.5", "10%", "nan", ""})
    EXPECT_EQ(words(text),
              std::string("expected a number between 0 and 1, found ") + text);
}
