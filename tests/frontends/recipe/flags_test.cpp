// Flags of keys as settings over the recipe's.

#include "frontends/recipe/flags.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

using namespace gradus::recipe;
using testing::EndsWith, testing::StartsWith;
using Lines = std::vector<std::string>;

/// Each setting, and the flag that it comes from.
static Lines parsed(const std::string &flag, const std::string &value) {
  auto settings = settingsOf(flag, value);
  if (!settings.ok())
    return {std::string(settings.status().message())};
  Lines lines;
  for (const Override &each : *settings)
    lines.push_back(each.setting + " by " + each.origin);
  return lines;
}

static Flag find(const std::string &name) {
  std::vector<Flag> all = flags();
  auto found = std::ranges::find(all, name, &Flag::name);
  return found == all.end() ? Flag() : *found;
}

TEST(Flags, SayWhatTheirKeysSay) {
  Flag flag = find("--fc-to-fn");
  EXPECT_EQ(flag.help, "Normalizes the inputs and weights of the last dense "
                       "layer; =KEY=VALUE,... sets its keys: epsilon, bias");
  EXPECT_EQ(flag.form, "");
  EXPECT_EQ(find("--precision").form, "f32|bf16|f16");
  EXPECT_EQ(find("--clip").form,
            "global_norm|norm|value|adaptive[,KEY=VALUE,...]");
  EXPECT_EQ(find("--boost").form, "O0|O1|O2[,KEY=VALUE,...]");
  EXPECT_EQ(find("--accumulation").form, "VALUE");
  EXPECT_THAT(find("--optimizer").form, StartsWith("sgd|adam|"));
  EXPECT_THAT(find("--optimizer").form, EndsWith("|thor[,KEY=VALUE,...]"));
  EXPECT_EQ(find("--loss").name, "");
}

// Whatever a flag stands for with its shortest value is a recipe.
TEST(Flags, AskForAMethodWithItsDefaults) {
  EXPECT_EQ(parsed("--less-bn", "true"), Lines{"less_bn=true by --less-bn"});
  EXPECT_EQ(parsed("--ema", "true"), Lines{"ema=true by --ema"});
  for (const Flag &flag : flags()) {
    std::string value = flag.form.empty()      ? "true"
                        : flag.form == "VALUE" ? "2"
                                               : flag.form;
    auto settings = settingsOf(flag.name, value.substr(0, value.find('|')));
    ASSERT_TRUE(settings.ok()) << settings.status();
    auto recipe = read("{}", "r.json", *settings);
    EXPECT_TRUE(recipe.ok()) << recipe.status();
  }
}

TEST(Flags, SetKeysOfAMethod) {
  EXPECT_EQ(
      parsed("--gradient-centralization",
             "placement=after_weight_decay,compat=mindspore"),
      (Lines{"gradient_centralization.placement=after_weight_decay by "
             "--gradient-centralization=placement=after_weight_decay,compat="
             "mindspore",
             "gradient_centralization.compat=mindspore by "
             "--gradient-centralization=placement=after_weight_decay,compat="
             "mindspore"}));
  EXPECT_EQ(parsed("--ema", "{\"decay\": 0.9}"),
            Lines{"ema={\"decay\": 0.9} by --ema={\"decay\": 0.9}"});
}

TEST(Flags, WriteKeysWithHyphensOrWithout) {
  EXPECT_EQ(parsed("--gradient-freeze", "p=0.7,total-steps=65536")[1],
            "gradient_freeze.total_steps=65536 by "
            "--gradient-freeze=p=0.7,total-steps=65536");
}

TEST(Flags, KeepListsWhole) {
  EXPECT_EQ(parsed("--less-bn", R"(keep=["a,b]"])"),
            Lines{R"(less_bn.keep=["a,b]"] by --less-bn=keep=["a,b]"])"});
  EXPECT_EQ(
      parsed("--loss-scale", R"(group,groups=[["a*"],["b","c"]],initial=8)")[1],
      R"(loss_scale.groups=[["a*"],["b","c"]] by )"
      R"(--loss-scale=group,groups=[["a*"],["b","c"]],initial=8)");
  EXPECT_EQ(
      parsed("--gradient-centralization",
             R"(kinds=["convolution","dense"],compat=mindspore)")[0],
      R"(gradient_centralization.kinds=["convolution","dense"] by )"
      R"(--gradient-centralization=kinds=["convolution","dense"],compat=mindspore)");
}

TEST(Flags, BeginWithATypeOrALevel) {
  EXPECT_EQ(parsed("--boost", "O1"), Lines{"boost=O1 by --boost=O1"});
  EXPECT_EQ(parsed("--clip", "norm,value=0.5"),
            (Lines{"clip.type=norm by --clip=norm,value=0.5",
                   "clip.value=0.5 by --clip=norm,value=0.5"}));
  EXPECT_EQ(parsed("--clip", "type=norm,value=0.5")[0],
            "clip.type=norm by --clip=type=norm,value=0.5");
  EXPECT_EQ(parsed("--precision", "bf16"),
            Lines{"precision=bf16 by --precision=bf16"});
}

TEST(Flags, RefuseValuesWithoutAKey) {
  EXPECT_EQ(parsed("--fc-to-fn", "0.1"),
            Lines{"--fc-to-fn=0.1: expected KEY=VALUE, and more of them behind "
                  "commas"});
  EXPECT_EQ(parsed("--clip", "norm,0.5"),
            Lines{"--clip=norm,0.5: expected a value of `type` or KEY=VALUE, "
                  "and more of them behind commas"});
  EXPECT_EQ(parsed("--accumulation", ""),
            Lines{"--accumulation: expected a value, VALUE"});
  EXPECT_EQ(parsed("--loss", "mse"),
            Lines{"--loss: no key of the recipe has this flag"});
}
