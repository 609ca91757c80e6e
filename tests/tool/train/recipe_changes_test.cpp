// What differs between the recipes of a checkpoint and of an artifact.

#include "tool/train/recipe_changes.h"

#include "runtime/names.h"

#include <gtest/gtest.h>

using namespace gradus::cli;
using nlohmann::json;

namespace {

std::string changes(const char *before, const char *now) {
  return recipeChanges(json::parse(before), json::parse(now));
}

} // namespace

TEST(RecipeChanges, NameEachKeyWithBothValues) {
  EXPECT_EQ(changes(R"({"optimizer": {"type": "sgd", "learning_rate": 0.01},
                        "clip": null})",
                    R"({"optimizer": {"type": "sgd", "learning_rate": 0.5},
                        "clip": {"type": "value", "value": 1}})"),
            R"(clip null, now {"type":"value","value":1}; )"
            "optimizer.learning_rate 0.01, now 0.5");
  EXPECT_EQ(changes(R"({"inputs": {"augment": {}}})",
                    R"({"inputs": {"augment": {"x": {"flip": true}}}})"),
            R"(inputs.augment.x null, now {"flip":true})");
}

// A plug-in that was loaded and whose key is off changes nothing.
TEST(RecipeChanges, NameKeysOfPlugins) {
  const char *noisy = R"({"plugins": {"noise": {"scale": 1}}})";
  EXPECT_EQ(changes("{}", noisy), R"(plugins.noise null, now {"scale":1})");
  EXPECT_EQ(changes(noisy, R"({"plugins": {"noise": {"scale": 2}}})"),
            "plugins.noise.scale 1, now 2");
  EXPECT_EQ(changes("{}", R"({"plugins": {"noise": null}})"), "");
  EXPECT_EQ(changes(R"({"plugins": {"noise": false}})", "{}"), "");
}

TEST(RecipeChanges, AreNoneBetweenNumbersThatAreEqual) {
  EXPECT_EQ(changes(R"({"a": 1, "b": [2, 3]})", R"({"b": [2, 3.0], "a": 1.0})"),
            "");
}

// A checkpoint of an earlier version lacks keys that methods got since.
TEST(RecipeChanges, AreNoneInKeysOfMethodsThatOneSideLacks) {
  EXPECT_EQ(changes(R"({"clip": {"type": "norm", "value": 1}})",
                    R"({"clip": {"type": "norm", "value": 1,
                                 "norm_epsilon": 1e-6}})"),
            "");
  EXPECT_EQ(changes(R"({"inputs": {"dims": {}}})",
                    R"({"inputs": {"dims": {"seq": 8}}})"),
            "inputs.dims.seq null, now 8");
}

TEST(RecipeChanges, AreNoneBetweenTwoWordsForOff) {
  EXPECT_EQ(changes(R"({"clip": false, "ema": null, "sam": false})",
                    R"({"clip": null, "ema": false})"),
            "");
  EXPECT_EQ(changes(R"({"clip": false})", R"({"clip": {"value": 1}})"),
            R"(clip false, now {"value":1})");
  EXPECT_EQ(changes(R"({"a": {"b": true}})", R"({"a": {"b": false}})"),
            "a.b true, now false");
}

TEST(RecipeChanges, AreShortOfLongValuesAndOfManyKeys) {
  json before = {{"list", std::vector<int>(1000, 1)}}, now = {{"list", {1}}};
  EXPECT_LT(recipeChanges(before, now).size(), 120u);
  before = now = json::object();
  for (int i = 0; i < 20; ++i)
    now["key" + std::to_string(i)] = i;
  EXPECT_TRUE(recipeChanges(before, now).ends_with("; and 12 more keys"));
}

TEST(RecipeChanges, ShowWhereLongValuesDiffer) {
  json before = {{"groups", json::array()}};
  for (int i = 0; i < 20; ++i)
    before["groups"].push_back(
        {{"match", {"layer" + std::to_string(i) + ".*"}}, {"frozen", false}});
  json now = before;
  now["groups"][12]["frozen"] = true;
  std::string text = recipeChanges(before, now);
  EXPECT_NE(text.find(R"({"frozen":false,"match":["layer12.*"]})"), text.npos)
      << text;
  EXPECT_NE(text.find(R"({"frozen":true,"match":["layer12.*"]})"), text.npos)
      << text;
  EXPECT_LT(text.size(), 200u);
}

TEST(RecipeChanges, CutBetweenLetters) {
  std::string same(200, 'a');
  for (std::string letters : {"\u00e9\u00e9", "x\u00e9"}) {
    std::string text = recipeChanges({{"k", same + letters + "1" + same}},
                                     {{"k", same + letters + "2" + same}});
    EXPECT_TRUE(gradus::runtime::isUtf8(text)) << text;
  }
}

TEST(RecipeOfRun, LeavesOutWhatChangesNoStepOrIsKeptElsewhere) {
  json recipe = json::parse(
      R"({"seed": 1, "passes": ["a:b"], "metrics": [], "memory_limit": 3,
          "boost": "O1", "loss_scale": {"type": "dynamic", "initial": 8},
          "inputs": {"normalize": {}, "dims": {"n": 32, "seq": 8}},
          "clip": null})");
  EXPECT_EQ(recipeOfRun(recipe),
            json::parse(R"({"loss_scale": {"type": "dynamic"},
                            "inputs": {"dims": {"n": 32, "seq": 8}},
                            "clip": null})"));
  EXPECT_EQ(recipeOfRun(json::object()), json::object());
}

TEST(LeaveOutBatch, TellsItFromOtherDimsOfItsSize) {
  json before = json::parse(R"({"inputs": {"dims": {"n": 32, "seq": 16}}})");
  json now = json::parse(R"({"inputs": {"dims": {"n": 16, "seq": 16}}})");
  leaveOutBatch(before, 32, now, 16);
  EXPECT_EQ(before, json::parse(R"({"inputs": {"dims": {"seq": 16}}})"));
  EXPECT_EQ(now, before);
  now["inputs"]["dims"]["seq"] = 8;
  leaveOutBatch(before, 16, now, 16);
  EXPECT_EQ(recipeChanges(before, now), "inputs.dims.seq 16, now 8");
}

TEST(LeaveOutBatch, AllowsForADimThatWasNotSaid) {
  json before = json::parse(R"({"inputs": {"dims": {}}})");
  json now = json::parse(R"({"inputs": {"dims": {"n": 16}}})");
  leaveOutBatch(before, 32, now, 16);
  EXPECT_EQ(now, before);
  for (json none : {json::object(), json::parse(R"({"inputs": 1})"),
                    json::parse(R"({"inputs": {"dims": null}})")}) {
    json same = none;
    leaveOutBatch(none, 32, now, 16);
    EXPECT_EQ(none, same);
  }
}
