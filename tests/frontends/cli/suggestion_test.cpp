#include "frontends/cli/suggestion.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

static const std::vector<std::string> kKnown = {"train", "evaluate", "predict",
                                                "run"};

TEST(Suggestion, IsTheNearestWord) {
  EXPECT_EQ(suggestion("trains", kKnown), "; did you mean 'train'?");
  EXPECT_EQ(suggestion("evalute", kKnown), "; did you mean 'evaluate'?");
}

TEST(Suggestion, IsNothingWhereNoWordIsNear) {
  EXPECT_EQ(suggestion("xyz", kKnown), "");
  EXPECT_EQ(suggestion("frob", kKnown), "");
  EXPECT_EQ(suggestion("", kKnown), "");
  EXPECT_EQ(suggestion("train", {}), "");
}
