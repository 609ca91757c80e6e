#include "frontends/cli/suggestion.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

static const std::vector<std::string> kKnown = {"train", "evaluate", "predict",
                                                "run"};

TEST(Suggestion, IsTheNearestWord) {
  EXPECT_EQ(nearest("trian", kKnown), "train");
  EXPECT_EQ(nearest("evalute", kKnown), "evaluate");
  EXPECT_EQ(nearest("ruhn", kKnown), "run");
  EXPECT_EQ(suggestion("trains", kKnown), "; did you mean 'train'?");
}

TEST(Suggestion, IsOfAnotherCase) {
  EXPECT_EQ(nearest("W", {"b", "w"}), "w");
  EXPECT_EQ(nearest("TRAIN", kKnown), "train");
  EXPECT_EQ(nearest("Fc", {"FC", "fc", "Fc2"}), "FC");
}

TEST(Suggestion, IsNoneWhereNothingIsNear) {
  EXPECT_EQ(nearest("frobnicate", kKnown), "");
  EXPECT_EQ(nearest("", kKnown), "");
  EXPECT_EQ(suggestion("xyz", kKnown), "");
  EXPECT_EQ(nearest("train", {}), "");
}
