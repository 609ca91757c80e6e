// Flags for training methods as settings over the recipe's.

#include "frontends/cli/method_flags.h"

#include "frontends/cli/failure.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

static Settings parsed(const std::string &line) {
  CLI::App app;
  MethodFlags flags;
  addMethodFlags(app, flags);
  app.parse(line);
  return settingsOf(flags);
}

TEST(MethodFlags, AskForAMethodWithItsDefaults) {
  EXPECT_EQ(parsed("--less-bn --fc-to-fn"),
            (Settings{{"fc_to_fn=true", "--fc-to-fn"},
                      {"less_bn=true", "--less-bn"}}));
  EXPECT_EQ(parsed(""), Settings());
}

TEST(MethodFlags, SetKeysOfAMethod) {
  std::string flag =
      "--gradient-centralization=placement=after_weight_decay,compat=mindspore";
  EXPECT_EQ(
      parsed(flag),
      (Settings{{"gradient_centralization.placement=after_weight_decay", flag},
                {"gradient_centralization.compat=mindspore", flag}}));
}

TEST(MethodFlags, WriteKeysWithHyphensOrWithout) {
  std::string flag =
      "--gradient-freeze=groups=10,type=1,p=0.7,total-steps=65536";
  EXPECT_EQ(parsed(flag),
            (Settings{{"gradient_freeze.groups=10", flag},
                      {"gradient_freeze.type=1", flag},
                      {"gradient_freeze.p=0.7", flag},
                      {"gradient_freeze.total_steps=65536", flag}}));
}

TEST(MethodFlags, KeepListsWhole) {
  const std::string value = R"(kinds=["convolution","dense"],compat=mindspore)";
  std::string flag = "--gradient-centralization";
  EXPECT_EQ(
      settingsOf({{flag, value}}),
      (Settings{
          {R"(gradient_centralization.kinds=["convolution","dense"])",
           flag + "=" + value},
          {"gradient_centralization.compat=mindspore", flag + "=" + value}}));
  EXPECT_EQ(
      settingsOf({{"--less-bn", R"(keep=["a,b]"])"}}),
      (Settings{{R"(less_bn.keep=["a,b]"])", R"(--less-bn=keep=["a,b]"])"}}));
}

TEST(MethodFlags, TakeALevelOfBoost) {
  EXPECT_EQ(parsed("--boost O1"), (Settings{{"boost=O1", "--boost O1"}}));
}

TEST(MethodFlags, RefuseAValueWithoutAKey) {
  EXPECT_THROW(parsed("--fc-to-fn=0.1"), Failure);
}
