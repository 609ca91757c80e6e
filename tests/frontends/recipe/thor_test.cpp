// The optimizer thor: which keys it is short for, and what MindSpore's presets
// schedule.

#include "frontends/recipe/thor.h"

#include "passes/optimizers/schedules.h"
#include "tests/frontends/recipe/reading.h"
#include "tests/passes/program_text.h"

#include <gmock/gmock.h>

using namespace gradus::recipe;
using Json = nlohmann::json;
using testing::HasSubstr;

namespace {

/// A recipe with the optimizer, and other keys.
std::string withThor(const std::string &keys, const std::string &more = "") {
  return R"({"optimizer": {"type": "thor")" + keys + "}" + more + "}";
}

/// What a recipe in full says of a hyperparameter after so many updates, in
/// epochs of `perEpoch` updates.
class Preset {
public:
  Preset(const std::string &preset, double perEpoch) {
    auto recipe =
        read(withThor(R"(, "preset": ")" + preset + "\"",
                      R"(, "settable": false, "schedule": {"updates": 1e6, )"
                      R"("updates_per_epoch": )" +
                          std::to_string(perEpoch) + "}"),
             "r.json");
    EXPECT_TRUE(recipe.ok()) << recipe.status();
    recipe_ = *recipe;
    json_ = Json::parse(recipe_.json);
  }

  double rate(double update) {
    return number("optimizer", "learning_rate") *
           factor("learning_rate", update);
  }
  double damping(double update) {
    return number("precondition", "damping") * factor("damping", update);
  }
  const Json &json() const { return json_; }

private:
  double number(const char *object, const char *key) const {
    return json_.at(object).at(key);
  }

  /// Computes what a step would.
  double factor(const char *of, double update) {
    gradus::testing::PassText source(R"(gradus.program @p {
      gradus.graph @g(%step: tensor<f64>) { gradus.return }
    })");
    source.program().setRecipeAttr(toAttribute(recipe_, source.context));
    gradus::GraphOp graph = source.program().getGraph("g");
    mlir::OpBuilder builder(graph.getBody().front().getTerminator());
    gradus::Arithmetic math(builder, graph.getLoc());
    auto schedules = gradus::Schedules::read(math, source.program(),
                                             graph.getBody().getArgument(0));
    EXPECT_TRUE(succeeded(schedules)) << source.messages;
    graph.addOutput("factor", schedules->factorOf(of));
    gradus::HostTensor step = gradus::zeros(llvm::ArrayRef<int64_t>{});
    step.floats[0] = update;
    gradus::StateMap states;
    auto results = evaluateGraph(graph, step, states);
    EXPECT_TRUE(succeeded(results)) << source.messages;
    return succeeded(results) ? (*results)[0].floats[0] : NAN;
  }

  Recipe recipe_;
  Json json_;
};

} // namespace

TEST(Thor, IsSgdWithPreconditioning) {
  Json recipe = accepted(R"({"optimizer": "thor"})");
  Json written = accepted(R"({
    "optimizer": {"type": "sgd", "learning_rate": 0.01, "momentum": 0.9},
    "precondition": {"type": "thor"}})");
  EXPECT_EQ(recipe, written);
  EXPECT_EQ(accepted(recipe.dump()), recipe);
}

TEST(Thor, GivesEachKeyToWhatHasIt) {
  Json recipe = accepted(withThor(
      R"(, "learning_rate": 0.2, "nesterov": true, "damping": 0.5,
         "refresh": {"every": 7}, "bias": "joined", "clip_update": 1.0,
         "weight_decay": 0.125, "decay_filter": ["*.bias"],
         "compat": "mindspore")",
      R"(, "groups": [{"match": ["head.*"], "weight_decay": 0.5}])"));
  EXPECT_EQ(recipe["optimizer"]["type"], "sgd");
  EXPECT_EQ(recipe["optimizer"]["learning_rate"], 0.2);
  EXPECT_EQ(recipe["optimizer"]["momentum"], 0.9);
  EXPECT_EQ(recipe["optimizer"]["nesterov"], true);
  EXPECT_EQ(recipe["optimizer"]["compat"], "mindspore");
  EXPECT_EQ(recipe["precondition"]["damping"], 0.5);
  EXPECT_EQ(recipe["precondition"]["refresh"]["every"], 7);
  EXPECT_EQ(recipe["precondition"]["bias"], "joined");
  EXPECT_EQ(recipe["precondition"]["per_sample"], false);
  EXPECT_EQ(recipe["clip_update"]["type"], "norm");
  EXPECT_EQ(recipe["clip_update"]["value"], 1.0);
  // The recipe's own groups come later, and so win.
  ASSERT_EQ(recipe["groups"].size(), 2u);
  EXPECT_EQ(recipe["groups"][0]["match"], Json::array({"*.bias"}));
  EXPECT_EQ(recipe["groups"][0]["weight_decay"], 0.0);
  EXPECT_EQ(recipe["groups"][1]["match"], Json::array({"head.*"}));
}

TEST(Thor, SaysThatItFiltersNothingWithoutDecay) {
  auto recipe = read(withThor(R"(, "decay_filter": ["*bais*"])"), "r.json");
  ASSERT_TRUE(recipe.ok()) << recipe.status();
  EXPECT_TRUE(Json::parse(recipe->json)["groups"].empty());
  EXPECT_EQ(recipe->remarks,
            std::vector<std::string>{
                "optimizer.decay_filter is [\"*bais*\"] without effect: "
                "optimizer.weight_decay is 0"});
}

// Whatever a model calls its norms and biases, they are no matrices.
TEST(PresetOfThor, OfBertDecaysMatrices) {
  const std::string preset = R"(, "preset": "bert", "weight_decay": 1e-5)";
  auto recipe = read(withThor(preset), "r.json");
  ASSERT_TRUE(recipe.ok()) << recipe.status();
  EXPECT_EQ(Json::parse(recipe->json)["weight_decay_for"], "matrices");
  EXPECT_TRUE(Json::parse(recipe->json)["groups"].empty());
  EXPECT_EQ(recipe->remarks, std::vector<std::string>());
  Json all = accepted(withThor(preset, R"(, "weight_decay_for": "all")"));
  EXPECT_EQ(all["weight_decay_for"], "all");
  Json own = accepted(withThor(preset + R"(, "decay_filter": ["*.beta"])"));
  EXPECT_EQ(own["weight_decay_for"], "all");
  ASSERT_EQ(own["groups"].size(), 1u);
  EXPECT_EQ(own["groups"][0]["match"], Json::array({"*.beta"}));
}

// The optimizer may have other rules than the recipe.
TEST(Thor, ClipsByTheRulesThatItHas) {
  Json ours =
      accepted(withThor(R"(, "clip_update": 1, "compat": "mindspore")"));
  EXPECT_EQ(ours["compat"], "pytorch");
  EXPECT_EQ(ours["clip_update"]["norm_epsilon"], 0.0);
  Json theirs = accepted(withThor(R"(, "clip_update": 1, "compat": "pytorch")",
                                  R"(, "compat": "mindspore")"));
  EXPECT_EQ(theirs["clip_update"]["norm_epsilon"], 1e-6);
  Json plain =
      accepted(withThor(R"(, "clip_update": 1)", R"(, "compat": "mindspore")"));
  EXPECT_EQ(plain["clip_update"]["norm_epsilon"], 0.0);
}

TEST(Thor, IsAFlagOfTheCommandLine) {
  Json recipe =
      accepted("{}", {"optimizer.type=thor", "optimizer.preset=resnet50_gpu",
                      "optimizer.damping=0.5"});
  EXPECT_EQ(recipe["precondition"]["damping"], 0.5);
  EXPECT_EQ(recipe["precondition"]["refresh"]["every"], 834);
}

// What the recipe says of a schedule, or of a key of a preset, stays.
TEST(Thor, WhatIsSaidWinsOverAPreset) {
  Json recipe = accepted(withThor(
      R"(, "preset": "resnet50_ascend", "learning_rate": 0.5,
         "refresh": {"spread": 2})",
      R"(, "schedule": {"learning_rate": [{"type": "constant"}]})"));
  EXPECT_EQ(recipe["optimizer"]["learning_rate"], 0.5);
  EXPECT_EQ(recipe["optimizer"]["weight_decay"], 5e-4);
  EXPECT_EQ(recipe["precondition"]["refresh"]["every"], 834);
  EXPECT_EQ(recipe["precondition"]["refresh"]["spread"], 2);
  const Json &schedule = recipe["schedule"];
  ASSERT_EQ(schedule["learning_rate"].size(), 1u);
  EXPECT_EQ(schedule["learning_rate"][0]["type"], "constant");
  EXPECT_EQ(schedule["damping"][0]["type"], "exponential");
}

/// Numbers of MindSpore's model zoo: learning rates and damping of updates in
/// epochs of 5,004.
TEST(PresetOfThor, OfResNetOnAscendHasItsSchedules) {
  Preset run("resnet50_ascend", 5004);
  for (auto [update, rate] :
       {std::pair(0, .058029108), std::pair(1, .058028214),
        std::pair(5003, .05368691), std::pair(195154, 2.5268528e-4),
        std::pair(195155, 1.2633528e-4), std::pair(200159, 4.6671914e-5),
        std::pair(225179, 6.4261603e-6)})
    EXPECT_NEAR(run.rate(update), rate, 1e-7 * rate) << update;
  for (auto [update, damping] :
       {std::pair(0, .029999584), std::pair(5003, .027993005),
        std::pair(50039, .0150108), std::pair(225179, .0013301263)})
    EXPECT_NEAR(run.damping(update), damping, 1e-7 * damping) << update;
  EXPECT_EQ(run.json()["precondition"]["refresh"]["every"], 834);
  EXPECT_EQ(run.json()["optimizer"]["momentum"], 0.9);
}

TEST(PresetOfThor, OfResNetOnGpusHasItsSchedules) {
  Preset run("resnet50_gpu", 5004);
  for (auto [update, rate] :
       {std::pair(0, .056718875), std::pair(5003, .051302817),
        std::pair(195154, 3.065286e-5), std::pair(195155, 1.5325046e-5),
        std::pair(200159, 4.7720387e-6)})
    EXPECT_NEAR(run.rate(update), rate, 2e-7 * rate) << update;
  EXPECT_NEAR(run.damping(5003), 0.02345 * std::pow(0.5467, 0.1), 1e-12);
}

// Numbers that were found with the factors of one device are used with these.
TEST(PresetOfThor, HasTheFactorsOfItsDevice) {
  for (auto [preset, isPerSample] :
       {std::pair("resnet50_gpu", false), std::pair("resnet50_ascend", true),
        std::pair("bert", true)})
    for (const char *compat : {"pytorch", "mindspore"}) {
      std::string keys = std::string(R"(, "preset": ")") + preset + "\"",
                  rules = std::string(R"(, "compat": ")") + compat + "\"";
      for (const Json &recipe :
           {accepted(withThor(keys, rules)), accepted(withThor(keys + rules))})
        EXPECT_EQ(recipe["precondition"]["per_sample"], isPerSample)
            << preset << " " << compat;
      Json own = accepted(withThor(keys + R"(, "per_sample": true)", rules));
      EXPECT_EQ(own["precondition"]["per_sample"], true);
    }
}

// The rate falls to 0 at the end of its formula, and stays there.
TEST(PresetOfThor, HoldsItsEnd) {
  Preset run("resnet50_gpu", 2);
  EXPECT_EQ(run.rate(99), 0);
  EXPECT_EQ(run.rate(500), 0);
}

TEST(PresetOfThor, OfBertCountsUpdates) {
  Preset run("bert", 100);
  for (auto [update, rate] :
       {std::pair(0, .006464), std::pair(29999, 1.0000072e-6)})
    EXPECT_NEAR(run.rate(update), rate, 1e-7 * rate) << update;
  // MindSpore's own list is f32.
  EXPECT_NEAR(run.rate(15000), .00161675, 1e-8);
  EXPECT_NEAR(run.damping(15000), 4.40625e-4, 1e-8);
  EXPECT_EQ(run.json()["precondition"]["refresh"]["every"], 100);
}

TEST(Thor, IsRefusedWithItsOwnWords) {
  EXPECT_THAT(refused(withThor(R"(, "dampng": 1)")),
              HasSubstr("optimizer.dampng: unknown key of thor; did you mean "
                        "\"damping\"?"));
  EXPECT_THAT(refused(withThor(R"(, "damping": 0)")),
              HasSubstr("optimizer.damping: expected more than 0, found 0"));
  EXPECT_THAT(refused(withThor(R"(, "preset": "resnet50_npu")")),
              HasSubstr("optimizer.preset: unknown value \"resnet50_npu\""));
  EXPECT_THAT(refused(withThor("", R"(, "precondition": "kfac")")),
              HasSubstr("precondition: stands beside the optimizer thor, which "
                        "is short for it; write its keys in `optimizer`, or "
                        "let optimizer.type be \"sgd\""));
  EXPECT_EQ(refused(withThor("", R"(, "precondition": false)")),
            "r.json: precondition: is false, but the optimizer thor is short "
            "for it, too; let optimizer.type be \"sgd\"");
  // What stands beside thor need not be right, and other mistakes are told.
  EXPECT_EQ(
      refused(R"({"seeed": 1})", {"optimizer=thor", "precondition.damping=1"}),
      "--set precondition.damping=1: precondition: stands beside the optimizer "
      "thor, which is short for it; write its keys in `optimizer`, or let "
      "optimizer.type be \"sgd\"\n"
      "  r.json: seeed: unknown key; did you mean \"seed\"?");
  EXPECT_THAT(
      refused(withThor(R"(, "clip_update": 1)", R"(, "clip_update": "norm")")),
      HasSubstr("clip_update: stands beside the optimizer thor"));
  EXPECT_THAT(refused(R"({"groups": [{"match": ["*"], "optimizer": "thor"}]})"),
              HasSubstr("groups.0.optimizer.type: unknown value \"thor\""));
}

// An update may be clipped whoever moves it.
TEST(Thor, LeavesAClippedUpdateToTheRecipe) {
  Json recipe = accepted(withThor("", R"(, "clip_update": {"type": "value"})"));
  EXPECT_EQ(recipe["clip_update"]["type"], "value");
  EXPECT_EQ(recipe["precondition"]["type"], "thor");
}
