#include "tool/suggestion.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

static const std::vector<std::string> kKnown = {"train", "evaluate", "predict",
                                                "run"};

TEST(Suggestion, IsTheNearestWord) {
  EXPECT_EQ(suggestion("trains", kKnown), "; did you mean 'train'?");
  EXPECT_EQ(suggestion("evalute", kKnown), "; did you mean 'evaluate'?");
}

static const Commands kCommands = {
    {"compile", {"--set", "--dim", "--target", "--plugin", "--clip"}},
    {"train", {"--epochs", "--data", "--device", "--set"}},
    {"evaluate", {"--data"}}};

TEST(SuggestedOption, IsThatOfOtherTools) {
  EXPECT_EQ(suggestedOption("--lr", "compile", kCommands),
            "; write --set optimizer.learning_rate=VALUE");
  EXPECT_EQ(suggestedOption("--lr", "train", kCommands),
            "; write --set optimizer.learning_rate=VALUE");
  EXPECT_EQ(suggestedOption("--lr", "evaluate", kCommands),
            "; it is fixed when compiling: gradus compile MODEL --set "
            "optimizer.learning_rate=VALUE");
  EXPECT_EQ(suggestedOption("--amp", "compile", kCommands),
            "; write --set precision=bf16");
  EXPECT_EQ(suggestedOption("--batch_size", "compile", kCommands),
            "; write --dim batch=N");
  EXPECT_EQ(suggestedOption("--num-epochs", "train", kCommands),
            "; write --epochs");
  EXPECT_EQ(suggestedOption("--num-epochs", "compile", kCommands),
            "; `gradus train` has --epochs");
}

// Training sets numbers alone.
TEST(SuggestedOption, IsOfCompilingForWhatTrainingCannotSet) {
  EXPECT_EQ(suggestedOption("--amp", "train", kCommands),
            "; it is fixed when compiling: gradus compile MODEL --set "
            "precision=bf16");
  EXPECT_EQ(suggestedOption("--batch-size", "train", kCommands),
            "; it is fixed when compiling: gradus compile MODEL --dim batch=N");
  EXPECT_EQ(suggestedOption("--optimizer", "train", kCommands),
            "; it is fixed when compiling: gradus compile MODEL --set "
            "optimizer.type=TYPE");
  EXPECT_EQ(suggestedOption("--momentum", "train", kCommands),
            "; write --set optimizer.momentum=VALUE");
}

// An object is not one value.
TEST(SuggestedOption, NamesAKeyWithinAnObject) {
  EXPECT_EQ(suggestedOption("--optim", "compile", kCommands),
            "; write --set optimizer.type=TYPE");
  EXPECT_EQ(suggestedOption("--criterion", "compile", kCommands),
            "; write --set loss.type=TYPE");
  EXPECT_EQ(suggestedOption("--lr-policy", "compile", kCommands),
            "; write --set 'schedule.learning_rate+={\"type\": TYPE}'");
}

TEST(SuggestedOption, SaysWhatANumberBecomes) {
  EXPECT_EQ(suggestedOption("--min-lr", "compile", kCommands),
            "; write --set schedule.learning_rate.0.final=VALUE, a factor of "
            "the learning rate: min_lr / learning_rate");
}

TEST(SuggestedOption, IsOneThatTheCommandHasAmongSeveral) {
  EXPECT_EQ(suggestedOption("--cuda", "train", kCommands), "; write --device");
  EXPECT_EQ(suggestedOption("--cuda", "compile", kCommands),
            "; write --target");
}

TEST(SuggestedOption, IsNoneWhereNoneIsNeeded) {
  EXPECT_EQ(
      suggestedOption("--prefetch_factor", "train", kCommands),
      "; batches are prepared while the step before runs, by --data-threads");
}

// An unknown flag may be a plug-in's, unless it is nearly one that is known.
TEST(SuggestedOption, SaysHowPluginsAreLoaded) {
  EXPECT_EQ(suggestedOption("--gradient-noise", "compile", kCommands),
            "; a plug-in's flag needs --plugin FILE.so");
  EXPECT_EQ(suggestedOption("--plagion", "compile", kCommands),
            "; did you mean '--plugin'?");
  EXPECT_EQ(suggestedOption("--gradient-noise", "compile", kCommands, true),
            "");
  EXPECT_EQ(suggestedOption("--gradient-noise", "train", kCommands), "");
  EXPECT_EQ(suggestedOption("--clipper", "compile", kCommands),
            "; did you mean '--clip'? A plug-in's flag needs --plugin FILE.so");
}

TEST(SuggestedOption, IsThatOfAnotherCommandOrTheNearest) {
  EXPECT_EQ(suggestedOption("--target", "train", kCommands),
            "; `gradus compile` has it");
  EXPECT_EQ(suggestedOption("--dta", "train", kCommands),
            "; did you mean '--data'?");
  EXPECT_EQ(suggestedOption("--quiet", "train", kCommands), "");
  EXPECT_EQ(suggestedOption("--frobnicate", "train", kCommands), "");
}

TEST(Suggestion, IsNothingWhereNoWordIsNear) {
  EXPECT_EQ(suggestion("xyz", kKnown), "");
  EXPECT_EQ(suggestion("frob", kKnown), "");
  EXPECT_EQ(suggestion("", kKnown), "");
  EXPECT_EQ(suggestion("train", {}), "");
}
