// AutoBoost's document: which methods it asks for, by level, mode and flags.

#include "frontends/recipe/boost.h"

#include "tests/frontends/recipe/reading.h"

#include <gtest/gtest.h>

using namespace gradus::recipe;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char *kFlags[] = {"less_bn",    "grad_freeze",
                                  "adasum",     "grad_accumulation",
                                  "dim_reduce", "loss_scale_group"};

/// A document with all keys, as a checked one has them.
Json whole(const std::string &level, const std::string &mode = "auto",
           const Json &said = Json::object()) {
  Json flags = {{"mode", mode}};
  for (const char *flag : kFlags)
    flags[flag] = said.value(flag, Json());
  return {{"level", level},
          {"boost", flags},
          {"less_bn", {{"fn_flag", true}, {"gc_flag", true}}},
          {"grad_freeze",
           {{"param_groups", 10},
            {"freeze_type", 1},
            {"freeze_p", 0.7},
            {"total_steps", 65536}}},
          {"grad_accumulation", {{"grad_accumulation_step", 4}}},
          {"dim_reduce",
           {{"rho", 0.5},
            {"gamma", 0.8},
            {"alpha", 0.01},
            {"sigma", 0.3},
            {"n_components", 8},
            {"pca_mat_path", "basis.safetensors"},
            {"weight_load_dir", nullptr},
            {"timeout", 1800}}},
          {"loss_scale_group",
           {{"init", {1024}}, {"groups", {{"conv*"}, {"fc*", "norm*"}}}}},
          {"compat", nullptr}};
}

/// "110000" for less_bn and grad_freeze.
std::string flagsOf(const Json &document) {
  std::string bits;
  for (const char *flag : kFlags)
    bits += document["boost"][flag].get<bool>() ? "1" : "0";
  return bits;
}

struct Case {
  const char *level, *mode;
  Json said;
  const char *flags;
};

class Flags : public testing::TestWithParam<Case> {};

std::string acceptedText(std::string_view text,
                         const Overrides &overrides = {}) {
  auto recipe = read(text, "r.json", overrides);
  EXPECT_TRUE(recipe.ok()) << recipe.status();
  return recipe.ok() ? recipe->json : "{}";
}

} // namespace

TEST_P(Flags, FollowFromLevelAndMode) {
  const Case &c = GetParam();
  Json resolved = resolvedBoost(whole(c.level, c.mode, c.said));
  EXPECT_EQ(flagsOf(resolved), c.flags);
  EXPECT_EQ(resolvedBoost(resolved), resolved);
}

INSTANTIATE_TEST_SUITE_P(
    Boost, Flags,
    testing::Values(
        Case{"O0", "auto", Json::object(), "000000"},
        Case{"O1", "auto", Json::object(), "110000"},
        Case{"O2", "auto", Json::object(), "111000"},
        // The level's flags count in mode auto, whatever else is said.
        Case{"O1", "auto", {{"adasum", true}}, "110000"},
        Case{"O1", "auto", {{"less_bn", false}}, "110000"},
        Case{"O0", "manual", {{"adasum", true}}, "001000"},
        Case{"O1", "manual", {{"grad_freeze", false}}, "100000"},
        Case{"O2",
             "manual",
             {{"grad_accumulation", true}, {"less_bn", false}},
             "011100"},
        Case{"O1", "manual", Json::object(), "110000"},
        // dim_reduce switches the others off.
        Case{"O0", "enable_all", {{"adasum", false}}, "000010"},
        Case{"O2",
             "manual",
             {{"dim_reduce", true}, {"less_bn", true}},
             "000010"},
        Case{"O2", "auto", {{"dim_reduce", true}}, "111000"},
        Case{"O2", "disable_all", {{"adasum", true}}, "000000"}));

/// A method that a recipe has off switches nothing off either.
TEST(Boost, TakesTheOthersWhereTheRecipeHasDimReduceOff) {
  Json off = {{"dim_reduce", false}}, unsaid = {{"dim_reduce", nullptr}};
  Json manual = whole("O1", "manual", {{"dim_reduce", true}}),
       all = whole("O0", "enable_all");
  EXPECT_EQ(flagsOf(resolvedBoost(manual, off)), "110000");
  EXPECT_EQ(flagsOf(resolvedBoost(all, off)), "111101");
  EXPECT_EQ(resolvedBoost(resolvedBoost(all, off), off),
            resolvedBoost(all, off));
  EXPECT_EQ(flagsOf(resolvedBoost(manual, unsaid)), "000010");
}

TEST(Boost, LeavesNothingBehindForTheNextDocument) {
  resolvedBoost(whole("O0", "manual", {{"adasum", true}}));
  EXPECT_EQ(flagsOf(resolvedBoost(whole("O0"))), "000000");
}

TEST(Boost, GivesEachMethodItsKey) {
  Json recipe = {{"seed", 3}};
  addBoostedKeys(resolvedBoost(whole("O1", "manual",
                                     {{"grad_accumulation", true},
                                      {"loss_scale_group", true}})),
                 recipe);
  EXPECT_EQ(recipe["less_bn"], Json::object());
  EXPECT_EQ(recipe["fc_to_fn"], Json::object());
  EXPECT_EQ(recipe["gradient_centralization"], (Json{{"compat", nullptr}}));
  EXPECT_EQ(recipe["gradient_freeze"]["total_steps"], 65536);
  EXPECT_EQ(recipe["accumulation"], 4);
  EXPECT_EQ(recipe["loss_scale"], Json::parse(R"({"type": "group",
                            "groups": [["conv*"], ["fc*", "norm*"]],
                            "initial": [1024]})"));
}

TEST(Boost, GivesDimReduceItsKeyAndTheOptimizerOfTheRest) {
  Json recipe = {{"seed", 3}};
  addBoostedKeys(resolvedBoost(whole("O2", "enable_all")), recipe);
  EXPECT_EQ(recipe, Json::parse(R"({"seed": 3,
      "dim_reduce": {"basis": "basis.safetensors", "components": 8,
                     "contraction": 0.5, "sufficient_decrease": 0.3},
      "optimizer": {"type": "sgd", "learning_rate": 0.01,
                    "momentum": 0.8}})"));
  // The recipe's own keys win.
  Json own = {{"optimizer", {{"type", "adamw"}}}, {"dim_reduce", false}};
  addBoostedKeys(resolvedBoost(whole("O2", "enable_all"), own), own);
  EXPECT_EQ(own["optimizer"], (Json{{"type", "adamw"}}));
  EXPECT_EQ(own["dim_reduce"], false);
  Json off = {{"dim_reduce", false}};
  addBoostedKeys(resolvedBoost(whole("O2", "enable_all"), off), off);
  EXPECT_FALSE(off.contains("optimizer"));
}

TEST(Boost, ReadsOnlyTheSectionsOfMethodsThatAreOn) {
  Json document = whole("O0"), recipe = Json::object();
  document["grad_freeze"]["freeze_p"] = 0.5;
  addBoostedKeys(resolvedBoost(document), recipe);
  EXPECT_TRUE(recipe.empty());
  document["level"] = "O1";
  document["less_bn"] = {{"fn_flag", false}, {"gc_flag", false}};
  addBoostedKeys(resolvedBoost(document), recipe);
  EXPECT_EQ(recipe["gradient_freeze"]["p"], 0.5);
  EXPECT_FALSE(recipe.contains("fc_to_fn"));
  EXPECT_FALSE(recipe.contains("gradient_centralization"));
}

TEST(Boost, LeavesAKeyOfTheRecipeAsItIs) {
  Json recipe = {{"less_bn", false}, {"gradient_freeze", nullptr}};
  addBoostedKeys(resolvedBoost(whole("O1")), recipe);
  EXPECT_EQ(recipe["less_bn"], false);
  EXPECT_EQ(recipe["fc_to_fn"], Json::object());
  EXPECT_EQ(recipe["gradient_freeze"]["groups"], 10);
}

/// What is printed for keys that nobody wrote takes nothing from a document.
TEST(Boost, CountsOverPrintedDefaults) {
  Json recipe = Json::parse(acceptedText("{}"));
  recipe["boost"] = Json::parse(
      R"({"level": "O1", "boost": {"mode": "manual", "grad_freeze": false,
                                   "grad_accumulation": true},
          "grad_accumulation": {"grad_accumulation_step": 4},
          "common": {"gradient_split_groups": [2]}})");
  Json boosted = Json::parse(acceptedText(recipe.dump()));
  EXPECT_EQ(boosted["less_bn"]["keep"], Json::array());
  EXPECT_EQ(boosted["fc_to_fn"]["bias"], false);
  EXPECT_EQ(boosted["accumulation"], 4);
  EXPECT_EQ(boosted["distribution"]["gradient_splits"], Json::array({2}));
  EXPECT_EQ(boosted["gradient_freeze"], nullptr);
}

/// AdaSum is of several processes. Printed defaults of `reduce` say nothing;
/// another way to reduce wins.
TEST(Boost, BringsAdasumToSeveralProcesses) {
  auto shared = [](const std::string &distribution, const char *compat) {
    return Json::parse(acceptedText(R"({"boost": {"level": "O2", "common":
        {"device_number": 4}, "compat": )" +
                                    std::string(compat) +
                                    R"(}, "distribution": )" + distribution +
                                    "}"))["distribution"];
  };
  for (const char *mode : {R"("data_parallel")", R"({"mode": "data_parallel"})",
                           R"({"mode": "data_parallel", "reduce": "plain"})"}) {
    Json keys = shared(mode, "null");
    EXPECT_EQ(keys["reduce"], "adasum") << mode;
    EXPECT_EQ(keys["adasum"],
              Json::parse(R"({"of": "weights", "within": 4, "per": "tensor",
                              "epsilon": 0.0})"));
    EXPECT_EQ(shared(mode, R"("mindspore")")["adasum"]["epsilon"], 1e-12);
  }
  EXPECT_EQ(shared(R"({"mode": "data_parallel", "reduce": "half"})",
                   "null")["reduce"],
            "half");
  EXPECT_EQ(shared(R"({"mode": "data_parallel", "adasum": {"within": 2}})",
                   "null")["adasum"]["within"],
            2);
  EXPECT_EQ(shared(R"("none")", "null")["reduce"], "plain");
}

/// A written-out recipe has defaults of AdaSum, which say as little as that of
/// `reduce`. Beside "adasum" they are meant.
TEST(Boost, BringsAdasumToARecipeThatWasWrittenOut) {
  auto adasum = [](const std::string &key, const char *value) {
    Json recipe = Json::parse(
        acceptedText(R"({"distribution": {"mode": "data_parallel"}})"));
    recipe["boost"] = "O2";
    if (!key.empty())
      recipe["distribution"][key] = Json::parse(value);
    return Json::parse(acceptedText(recipe.dump()))["distribution"]["adasum"];
  };
  EXPECT_EQ(adasum("", ""), Json::parse(R"({"of": "weights", "within": 8,
                                "per": "tensor", "epsilon": 0.0})"));
  EXPECT_EQ(adasum("adasum", R"({"within": 2})")["within"], 2);
  EXPECT_EQ(adasum("reduce", R"("adasum")")["of"], "gradients");
  EXPECT_EQ(adasum("reduce", R"("adasum")")["within"], 1);
}

/// A recipe that was written out is read as it was meant, and says the same
/// when it is written out again: whose rules apply stands in its keys.
TEST(Boost, IsWrittenOutOnceOverSeveralProcesses) {
  for (const char *compat : {"null", R"("mindspore")", R"("singa")"})
    for (bool ofAll : {false, true}) {
      SCOPED_TRACE(std::string(compat) + (ofAll ? " of all" : " of boost"));
      std::string own = std::string(R"(, "compat": )") + compat,
                  text = R"({"boost": {"level": "O2", "common":
                            {"device_number": 4})" +
                         (ofAll ? "" : own) + "}" +
                         (ofAll && own.find("null") == own.npos ? own : "") +
                         R"(, "distribution": "data_parallel"})",
                  written = acceptedText(text);
      EXPECT_EQ(acceptedText(written), written);
      Json recipe = Json::parse(written), keys = recipe["distribution"];
      bool isMindspore = std::string(compat) == R"("mindspore")";
      EXPECT_EQ(keys["reduce"], "adasum");
      EXPECT_EQ(keys["adasum"]["within"], 4);
      bool isSinga = ofAll && std::string(compat) == R"("singa")";
      EXPECT_EQ(keys["bucket_elements"], isSinga ? Json(2097152) : Json());
      EXPECT_EQ(keys["adasum"]["epsilon"], isMindspore ? 1e-12 : 0.0);
      recipe["distribution"]["compat"] = isMindspore ? "pytorch" : "mindspore";
      EXPECT_EQ(
          Json::parse(acceptedText(recipe.dump()))["distribution"]["adasum"],
          keys["adasum"])
          << "it is written in full";
    }
}

TEST(Boost, IsToldWhatWinsOverIt) {
  auto remarks = [](std::string_view text) {
    auto recipe = read(text, "r.json");
    EXPECT_TRUE(recipe.ok()) << recipe.status();
    return recipe.ok() ? recipe->remarks : std::vector<std::string>();
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(remarks(R"({"boost": "O1"})"), Lines());
  EXPECT_EQ(remarks(acceptedText(R"({"boost": "O2"})")),
            Lines{"boost's adasum changes nothing: there is one process, which "
                  "has nothing to merge"});
  EXPECT_EQ(
      remarks(
          R"({"boost": "O1", "fc_to_fn": false, "gradient_freeze": {"groups": 4}})"),
      (Lines{"fc_to_fn is false, which wins over boost",
             "gradient_freeze.groups is 4, which wins over boost's 10"}));
  EXPECT_EQ(
      remarks(
          R"({"boost": {"common": {"gradient_split_groups": 3, "device_number": 4}}})"),
      (Lines{"boost.common.gradient_split_groups changes nothing, because "
             "boost's less_bn is off",
             "boost.common.device_number changes nothing: there is one "
             "process"}));
  const std::string adasum =
      R"({"boost": {"boost": {"mode": "manual", "adasum": true}},
          "distribution": )";
  EXPECT_EQ(remarks(adasum + R"("data_parallel"})"), Lines());
  EXPECT_EQ(remarks(adasum + R"({"mode": "data_parallel", "reduce": "bf16"}})"),
            Lines{"distribution.reduce is \"bf16\", which wins over boost's "
                  "\"adasum\""});
  EXPECT_EQ(
      remarks(adasum +
              R"({"mode": "data_parallel", "adasum": {"of": "gradients"}}})"),
      Lines{"distribution.adasum.of is \"gradients\", which wins over boost's "
            "\"weights\""});
  EXPECT_EQ(
      remarks(adasum + R"({"mode": "data_parallel", "reduce": "plain"}})"),
      Lines{"distribution.reduce is \"plain\", which is also what nobody said, "
            "and so boost's \"adasum\" wins over it; boost.boost.mode "
            "\"manual\" and boost.boost.adasum false leave that out"});
  EXPECT_EQ(remarks(R"({"boost": {"common": {"device_number": 4}},
                        "distribution": "data_parallel"})"),
            Lines{"boost.common.device_number changes nothing: boost's adasum "
                  "is off"});
}

TEST(Boost, IsToldWhichFlagsItsModePassesOver) {
  auto remarks = [](std::string_view text) {
    auto recipe = read(text, "r.json");
    EXPECT_TRUE(recipe.ok()) << recipe.status();
    return recipe.ok() ? recipe->remarks : std::vector<std::string>();
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(
      remarks(
          R"({"boost": {"level": "O1", "boost": {"less_bn": false, "grad_freeze": true, "dim_reduce": true}}})"),
      (Lines{"boost.boost.less_bn is false without effect: mode \"auto\" takes "
             "the flags of level O1; mode \"manual\" takes those that are said",
             "boost.boost.dim_reduce is true without effect: mode \"auto\" "
             "takes the flags of level O1; mode \"manual\" takes those that "
             "are said"}));
  EXPECT_EQ(
      remarks(
          R"({"boost": {"level": "O1", "boost": {"mode": "disable_all", "less_bn": true}}})"),
      Lines{"boost.boost.less_bn is true without effect: mode \"disable_all\" "
            "sets all flags alike; mode \"manual\" takes those that are said"});
  EXPECT_EQ(
      remarks(
          R"({"boost": {"level": "O1", "boost": {"mode": "manual", "less_bn": false}}})"),
      Lines());
}

constexpr const char *kWithoutFreezing =
    R"({"boost": {"level": "O1", "boost": {"mode": "manual", "grad_freeze": false}, "compat": "mindspore"}})";

TEST(Boost, IsKeptWithAllThatItStandsFor) {
  Json recipe = Json::parse(acceptedText(kWithoutFreezing));
  EXPECT_EQ(flagsOf(recipe["boost"]), "100000");
  EXPECT_EQ(recipe["less_bn"]["keep"], Json::array());
  EXPECT_EQ(recipe["gradient_centralization"]["compat"], "mindspore");
  EXPECT_EQ(acceptedText(recipe.dump()), recipe.dump(2));
}

TEST(Boost, IsO0WhereNothingIsOn) {
  for (const char *text :
       {"{}", R"({"boost": "O0"})",
        R"({"boost": {"level": "O2", "boost": {"mode": "disable_all"}}})",
        R"({"boost": {"grad_freeze": {"freeze_p": 0.5}}})"})
    EXPECT_EQ(Json::parse(acceptedText(text))["boost"], "O0") << text;
}

TEST(Boost, TakesALevelAlone) {
  Json recipe = Json::parse(acceptedText(R"({"boost": "O2"})"));
  EXPECT_EQ(flagsOf(recipe["boost"]), "111000");
  EXPECT_EQ(recipe["gradient_freeze"]["groups"], 10);
  EXPECT_EQ(recipe["gradient_freeze"]["strategy"], nullptr);
  EXPECT_EQ(recipe["fc_to_fn"]["bias"], false);
  EXPECT_EQ(recipe["accumulation"], 1);
}

TEST(Boost, TakesOneSplitPointForAListOfIt) {
  Json recipe = Json::parse(acceptedText(
      R"({"boost": {"level": "O1", "common": {"gradient_split_groups": 5},
                    "boost": {"mode": "manual", "grad_freeze": false}}})"));
  EXPECT_EQ(recipe["boost"]["common"]["gradient_split_groups"],
            Json::array({5}));
  EXPECT_EQ(recipe["distribution"]["gradient_splits"], Json::array({5}));
}

/// A document that switches dim_reduce on, with a section.
static std::string reduced(const std::string &section,
                           const std::string &more = "") {
  return R"({"boost": {"level": "O1", "boost": {"mode": "manual", "dim_reduce": true}, "dim_reduce": {)" +
         section + "}}" + more + "}";
}

TEST(Boost, TakesMindSporesDocumentOfDimReduce) {
  auto recipe =
      read(reduced(R"("rho": 0.6, "gamma": 0.8, "alpha": 0.002, "sigma": 0.5,
                                "n_components": 4, "pca_mat_path": "b.safetensors",
                                "weight_load_dir": "run", "timeout": 60)"),
           "r.json");
  ASSERT_TRUE(recipe.ok()) << recipe.status();
  Json all = Json::parse(recipe->json);
  EXPECT_EQ(flagsOf(all["boost"]), "000010");
  EXPECT_EQ(all["dim_reduce"], Json::parse(R"({"basis": "b.safetensors",
      "components": 4, "contraction": 0.6, "sufficient_decrease": 0.5,
      "dealt": false})"));
  EXPECT_EQ(all["optimizer"]["type"], "sgd");
  EXPECT_EQ(all["optimizer"]["learning_rate"], 0.002);
  EXPECT_EQ(all["optimizer"]["momentum"], 0.8);
  EXPECT_EQ(recipe->remarks,
            (std::vector<std::string>{
                "boost's dim_reduce switches the others off: less_bn, "
                "grad_freeze",
                "boost.dim_reduce.timeout changes nothing: a basis is read "
                "when a model is compiled, and nothing waits",
                "boost.dim_reduce.weight_load_dir changes nothing: the basis "
                "is that of dim_reduce.basis"}));
  EXPECT_EQ(acceptedText(recipe->json), recipe->json);
}

TEST(Boost, SaysThatTheRecipesOptimizerWinsOverTheDocuments) {
  auto recipe =
      read(reduced(R"("pca_mat_path": "b.safetensors")",
                   R"(, "optimizer": {"type": "sgd", "learning_rate": 0.1})"),
           "r.json");
  ASSERT_TRUE(recipe.ok()) << recipe.status();
  EXPECT_EQ(recipe->remarks,
            (std::vector<std::string>{
                "boost's dim_reduce switches the others off: less_bn, "
                "grad_freeze",
                "optimizer.learning_rate is 0.1, which wins over boost's 0.001",
                "optimizer.momentum is 0.0, which wins over boost's 0.9"}));
}

/// The recipe's `false` leaves the document's other methods, and the recipe's
/// optimizer, as if the document had never named it.
TEST(Boost, SaysThatTheRecipesFalseWinsOverDimReduce) {
  std::string text = reduced(R"("pca_mat_path": "b.safetensors", "timeout": 9)",
                             R"(, "dim_reduce": false)");
  auto recipe = read(text, "r.json");
  ASSERT_TRUE(recipe.ok()) << recipe.status();
  EXPECT_EQ(recipe->remarks, std::vector<std::string>{
                                 "dim_reduce is false, which wins over boost"});
  Json all = Json::parse(recipe->json);
  EXPECT_EQ(flagsOf(all["boost"]), "110000");
  EXPECT_EQ(all["dim_reduce"], false);
  EXPECT_EQ(all["gradient_freeze"]["groups"], 10);
  EXPECT_EQ(all["optimizer"], Json::parse(acceptedText("{}"))["optimizer"]);
  EXPECT_EQ(acceptedText(recipe->json), recipe->json);
  auto set =
      read(reduced(""), "r.json", {{"dim_reduce=false", "--dim-reduce=false"}});
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(flagsOf(Json::parse(set->json)["boost"]), "110000");
}

TEST(Boost, SaysWhereTheFlagOfASectionIs) {
  EXPECT_EQ(refused(R"({"boost": {"level": "O1", "dim_reduce": false}})"),
            "r.json: boost.dim_reduce: expected an object, found false; its "
            "flag is boost.boost.dim_reduce");
  EXPECT_EQ(refused(R"({"boost": {"less_bn": true}})"),
            "r.json: boost.less_bn: expected an object, found true; its flag "
            "is boost.boost.less_bn");
  EXPECT_EQ(refused(R"({"boost": {"common": true}})"),
            "r.json: boost.common: expected an object, found true");
  EXPECT_EQ(refused(R"({"boost": {"dim_reduce": 32}})"),
            "r.json: boost.dim_reduce: expected an object, found 32");
}

TEST(Boost, AsksForTheBasisOfDimReduce) {
  EXPECT_EQ(refused(reduced("")),
            "r.json: boost.boost.dim_reduce: is on, and no basis is said; name "
            "a file of `gradus basis` as boost.dim_reduce.pca_mat_path, or as "
            "dim_reduce.basis");
  EXPECT_EQ(refused(reduced(R"("weight_load_dir": "run")")),
            "r.json: boost.dim_reduce.weight_load_dir: is not read while a "
            "model is compiled; `gradus basis ARTIFACT CHECKPOINT... "
            "--components K -o basis.safetensors` makes a basis of "
            "checkpoints, whose file is to be named as "
            "boost.dim_reduce.pca_mat_path");
  EXPECT_EQ(refused(reduced(R"("pca_mat_path": "pca.npy")")),
            "r.json: boost.dim_reduce.pca_mat_path: is \"pca.npy\", a matrix "
            "without names; `gradus basis ARTIFACT --from-npy MATRIX.npy -o "
            "basis.safetensors` makes a basis of it, whose file is to be named "
            "here");
  acceptedText(reduced("", R"(, "dim_reduce": {"basis": "b.safetensors"})"));
}

/// What is left of gradients wants small steps, and no recipe needs to say so.
TEST(DimReduce, BringsItsOptimizer) {
  Json recipe = Json::parse(acceptedText(R"({"dim_reduce": "b.safetensors"})"));
  EXPECT_EQ(recipe["dim_reduce"],
            Json::parse(R"({"basis": "b.safetensors", "components": null,
                            "contraction": 0.55, "sufficient_decrease": 0.4,
                            "dealt": false})"));
  EXPECT_EQ(recipe["optimizer"]["type"], "sgd");
  EXPECT_EQ(recipe["optimizer"]["learning_rate"], 0.001);
  EXPECT_EQ(recipe["optimizer"]["momentum"], 0.9);
  for (const char *off : {"false", "null"})
    EXPECT_EQ(Json::parse(acceptedText(std::string("{\"dim_reduce\": ") + off +
                                       "}"))["optimizer"],
              Json::parse(acceptedText("{}"))["optimizer"]);
}

constexpr const char *kGroupScales =
    R"({"boost": {"boost": {"mode": "manual", "loss_scale_group": true},
                  "loss_scale_group": {"init": 256, "groups": [["a*"], ["b"]]}})";

/// Scales of groups take the place of the one that f16 brings.
TEST(Boost, GivesGroupsOfParametersTheirLossScales) {
  Json recipe = Json::parse(
      acceptedText(std::string(kGroupScales) + ", \"precision\": \"f16\"}"));
  EXPECT_EQ(recipe["loss_scale"]["type"], "group");
  EXPECT_EQ(recipe["loss_scale"]["initial"], Json::array({256}));
  EXPECT_EQ(recipe["loss_scale"]["groups"], Json::parse(R"([["a*"], ["b"]])"));
  EXPECT_EQ(recipe["loss_scale"]["maximum"], 16777216);
}

TEST(Boost, LeavesALossScaleOfTheRecipeAsItIs) {
  auto recipe = read(std::string(kGroupScales) +
                         ", \"loss_scale\": {\"type\": \"dynamic\"}}",
                     "r.json");
  ASSERT_TRUE(recipe.ok()) << recipe.status();
  EXPECT_EQ(Json::parse(recipe->json)["loss_scale"]["type"], "dynamic");
  EXPECT_EQ(recipe->remarks,
            std::vector<std::string>{"loss_scale.type is \"dynamic\", which "
                                     "wins over boost's \"group\""});
}

TEST(Boost, AsksForTheGroupsOfLossScales) {
  const std::string flag =
      R"({"boost": {"boost": {"mode": "manual", "loss_scale_group": true}})";
  EXPECT_EQ(refused(flag + "}"),
            "r.json: boost.boost.loss_scale_group: is on, and no groups are "
            "said, which MindSpore is given in code; write patterns of each "
            "group's parameters as boost.loss_scale_group.groups, such as "
            "[[\"conv*\"], [\"fc*\"]], or as loss_scale.groups");
  acceptedText(flag +
               R"(, "loss_scale": {"type": "group", "groups": [["*"]]}})");
}

struct Mistake {
  const char *document, *words;
};

class RefusedDocument : public testing::TestWithParam<Mistake> {};

TEST_P(RefusedDocument, SaysWhy) {
  EXPECT_EQ(refused(std::string("{\"boost\": ") + GetParam().document + "}"),
            std::string("r.json: boost") + GetParam().words);
}

INSTANTIATE_TEST_SUITE_P(
    Boost, RefusedDocument,
    testing::Values(
        Mistake{"\"O7\"", ".level: unknown value \"O7\"; did you mean \"O0\"?"},
        Mistake{R"({"boost": {"mode": "automatic"}})",
                ".boost.mode: unknown value \"automatic\"; known: auto, "
                "manual, enable_all, disable_all"},
        Mistake{R"({"boost": {"less_bn": 1}})",
                ".boost.less_bn: expected true or false, found 1"},
        Mistake{R"({"boost": {"lessbn": true}})",
                ".boost.lessbn: unknown key; did you mean \"less_bn\"?"},
        Mistake{R"({"common": {"device_num": 8}})",
                ".common.device_num: unknown key; did you mean "
                "\"device_number\"?"},
        Mistake{R"({"grad_freeze": {"freeze_p": 1.0}})",
                ".grad_freeze.freeze_p: expected less than 1, found 1.0"},
        Mistake{R"({"grad_freeze": {"freeze_type": 2}})",
                ".grad_freeze.freeze_type: expected less than 2, found 2"},
        Mistake{R"({"grad_freeze": {"param_groups": 0}})",
                ".grad_freeze.param_groups: expected at least 1, found 0"},
        Mistake{R"({"dim_reduce": {"n_component": 32}})",
                ".dim_reduce.n_component: unknown key; did you mean "
                "\"n_components\"?"}));
