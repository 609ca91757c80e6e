#include "frontends/cli/suggestion.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

static const std::vector<std::string> kKnown = {"train", "evaluate", "predict",
                                                "run"};

TEST(Suggestion, IsTheNearestWord) {
  EXPECT_EQ(suggestion("trains", kKnown), "; did you mean 'train'?");
  EXPECT_EQ(suggestion("evalute", kKnown), "; did you mean 'evaluate'?");
}

static const Commands kCommands = {{"compile", {"--set", "--dim", "--target"}},
                                   {"train", {"--epochs", "--data"}}};

TEST(SuggestedOption, IsThatOfOtherTools) {
  EXPECT_EQ(suggestedOption("--lr", "compile", kCommands),
            "; write --set optimizer.learning_rate=VALUE");
  EXPECT_EQ(suggestedOption("--lr", "train", kCommands),
            "; it is said when compiling: --set optimizer.learning_rate=VALUE");
  EXPECT_EQ(suggestedOption("--amp", "compile", kCommands),
            "; write --set precision=bf16");
  EXPECT_EQ(suggestedOption("--batch_size", "compile", kCommands),
            "; write --dim batch=N");
  EXPECT_EQ(suggestedOption("--num-epochs", "train", kCommands),
            "; write --epochs");
  EXPECT_EQ(suggestedOption("--num-epochs", "compile", kCommands),
            "; `gradus train` has --epochs");
}

TEST(SuggestedOption, IsThatOfAnotherCommandOrTheNearest) {
  EXPECT_EQ(suggestedOption("--target", "train", kCommands),
            "; `gradus compile` has it");
  EXPECT_EQ(suggestedOption("--dta", "train", kCommands),
            "; did you mean '--data'?");
  EXPECT_EQ(suggestedOption("--frobnicate", "train", kCommands), "");
}

TEST(Suggestion, IsNothingWhereNoWordIsNear) {
  EXPECT_EQ(suggestion("xyz", kKnown), "");
  EXPECT_EQ(suggestion("frob", kKnown), "");
  EXPECT_EQ(suggestion("", kKnown), "");
  EXPECT_EQ(suggestion("train", {}), "");
}
