// Settings of optimizers come from the recipe, their own defaults and the rules
// of the framework that the recipe follows.

#include "passes/optimizers/adam.h"
#include "passes/optimizers/parameters.h"
#include "passes/optimizers/sgd.h"
#include "tests/passes/program_text.h"

using namespace gradus;
using gradus::testing::PassText;

/// The settings of the recipe's optimizer.
template <typename Settings> static Settings settingsOf(const char *recipe) {
  PassText source("gradus.program @p attributes {recipe = {" +
                  std::string(recipe) + "}} {}");
  return optimizerOfRecipe(source.program()).as<Settings>();
}

TEST(OptimizerKeys, HaveTheirDefaultsWhereTheRecipeIsSilent) {
  auto common = settingsOf<OptimizerSettings>("");
  EXPECT_EQ(common.learningRate.initial, 1e-3);
  EXPECT_EQ(common.weightDecay.initial, 0.01) << "that of adamw";
  EXPECT_FALSE(common.maximize || common.isSingle || common.decouplesDecay);
  auto adam = settingsOf<AdamSettings>("");
  EXPECT_EQ(adam.betas[1].initial, 0.999);
  EXPECT_EQ(adam.place, EpsilonPlace::corrected);
}

TEST(OptimizerKeys, TakeWhatTheRecipeSaysWithItsPath) {
  auto adam = settingsOf<AdamSettings>(
      R"(optimizer = {type = "adam", betas = [5.0e-1, 6.0e-1], epsilon = 1 : i64})");
  EXPECT_EQ(adam.betas[0].initial, 0.5);
  EXPECT_EQ(adam.betas[1].path, "optimizer.betas[1]");
  EXPECT_EQ(adam.epsilon.initial, 1);
  EXPECT_EQ(adam.epsilon.path, "optimizer.epsilon");
}

TEST(OptimizerKeys, FollowTheFrameworkOfTheRecipeOrTheirOwn) {
  EXPECT_TRUE(
      settingsOf<SgdSettings>(R"(compat = "singa", optimizer = {type = "sgd"})")
          .dampensFirst);
  EXPECT_FALSE(
      settingsOf<SgdSettings>(
          R"(compat = "singa", optimizer = {type = "sgd", compat = "pytorch"})")
          .dampensFirst);
  EXPECT_FALSE(
      settingsOf<SgdSettings>(
          R"(compat = "singa", optimizer = {type = "sgd", dampens_first = false})")
          .dampensFirst);
  EXPECT_EQ(settingsOf<AdamSettings>(
                R"(optimizer = {type = "adam", compat = "mindspore"})")
                .place,
            EpsilonPlace::uncorrected);
  for (const char *framework : {"singa", "mindspore"})
    EXPECT_TRUE(settingsOf<OptimizerSettings>(
                    (std::string("compat = \"") + framework + "\"").c_str())
                    .isSingle);
}
