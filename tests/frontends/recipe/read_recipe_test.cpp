// Recipes: what is filled in, what may be said shortly, what is refused.

#include "tests/frontends/recipe/reading.h"

using namespace gradus::recipe;
using nlohmann::json;

TEST(ReadRecipe, FillsInTheDefaultsOfTheChosenOptimizer) {
  json adam = accepted(
      R"({"optimizer": {"type": "adam", "learning_rate": 1}})")["optimizer"];
  EXPECT_EQ(adam,
            json::parse(
                R"({"type": "adam", "learning_rate": 1.0, "betas": [0.9, 0.999],
                                  "epsilon": 1e-8, "epsilon_place": "corrected",
                                  "scheduled_epsilon": true, "weight_decay": 0.0,
                                  "amsgrad": false, "nesterov": false, "maximize": false,
                                  "single_precision": false, "compat": null})"));
  EXPECT_EQ(accepted("{}")["optimizer"]["weight_decay"], 0.01);
}

TEST(ReadRecipe, TakesATypeByItsNameAlone) {
  EXPECT_EQ(accepted(R"({"optimizer": "sgd"})")["optimizer"]["momentum"], 0.0);
}

TEST(ReadRecipe, WritesTheSameTextAgain) {
  auto once = read(R"({"seed": 3, "optimizer": "sgd"})", "r.json");
  ASSERT_TRUE(once.ok());
  EXPECT_EQ(read(once->json, "again.json")->json, once->json);
}

TEST(ReadRecipe, TellsTheImporterWhatItNeeds) {
  auto recipe = read(
      R"({"inputs": {"dims": {"batch": 32}}, "fixed": ["*.table"]})", "r.json");
  ASSERT_TRUE(recipe.ok()) << recipe.status();
  EXPECT_EQ(recipe->dims.at("batch"), 32);
  EXPECT_EQ(recipe->trainable, std::vector<std::string>{"*"});
  EXPECT_EQ(recipe->fixed, std::vector<std::string>{"*.table"});
}

TEST(ReadRecipe, ReportsAllMistakesAtOnce) {
  EXPECT_EQ(
      refused(
          R"({"sede": 1, "optimizer": {"type": "sgd", "momentum": "much"}})"),
      "r.json: sede: unknown key; did you mean \"seed\"?\n"
      "  r.json: optimizer.momentum: expected a number, found \"much\"");
}

TEST(ReadRecipe, RefusesADeepNest) {
  EXPECT_EQ(refused(std::string(100000, '[') + std::string(100000, ']')),
            "r.json: nested deeper than 32 levels");
}

TEST(ReadRecipe, RefusesTheUnreadableFile) {
  auto recipe = readFile("/no/such/recipe.json");
  EXPECT_EQ(recipe.status().message(),
            "/no/such/recipe.json: cannot read this recipe: No such file or "
            "directory");
  EXPECT_EQ(readFile("/").status().message(),
            "/: cannot read this recipe: Is a directory");
}

TEST(ReadRecipe, GivesF16ALossScaleUnlessItIsRefused) {
  EXPECT_EQ(accepted(R"({"precision": "f16"})")["loss_scale"]["type"],
            "dynamic");
  EXPECT_EQ(
      accepted(R"({"precision": "f16", "loss_scale": null})")["loss_scale"],
      nullptr);
  EXPECT_EQ(accepted(R"({"precision": "bf16"})")["loss_scale"], nullptr);
}

TEST(ReadRecipe, PassesOverWhatEditorsAdd) {
  EXPECT_EQ(accepted(R"({"$schema": "recipe.schema.json"})"), accepted("{}"));
}

TEST(ReadRecipe, SwitchesBoostOffByNullAndFalse) {
  for (const char *off : {"null", "false", "\"O0\""})
    EXPECT_EQ(accepted(std::string("{\"boost\": ") + off + "}")["boost"], "O0");
  EXPECT_EQ(accepted(R"({"boost": "O1"})", {"boost=null"})["boost"], "O0");
}

TEST(ReadRecipe, TakesZeroHoweverItIsWritten) {
  EXPECT_EQ(accepted(R"({"optimizer": {"type": "sgd", "learning_rate": 0e-999,
                         "momentum": 0.00}, "fixed": ["1e-999"]})")
                ["optimizer"]["learning_rate"],
            0.0);
}

TEST(ReadRecipe, TakesBytesWithAndWithoutUnits) {
  for (auto [given, bytes] :
       {std::pair<std::string, int64_t>("\"2GiB\"", 2147483648),
        {"\"1.5 MiB\"", 1572864},
        {"\"20MB\"", 20000000},
        {"4096", 4096}})
    EXPECT_EQ(accepted("{\"memory_limit\": " + given + "}")["memory_limit"],
              bytes)
        << given;
  EXPECT_EQ(refused(R"({"memory_limit": "2 gigs"})", {}),
            "r.json: memory_limit: expected a size such as \"2GiB\" or a "
            "number of bytes, found \"2 gigs\"");
  EXPECT_EQ(refused(R"({"memory_limit": 0})", {}),
            "r.json: memory_limit: expected a size such as \"2GiB\" or a "
            "number of bytes, found 0");
}

struct Mistake {
  const char *recipe, *words;
};

class RefusedRecipe : public testing::TestWithParam<Mistake> {};

TEST_P(RefusedRecipe, SaysWhy) {
  EXPECT_EQ(refused(GetParam().recipe),
            std::string("r.json: ") + GetParam().words);
}

INSTANTIATE_TEST_SUITE_P(
    ReadRecipe, RefusedRecipe,
    testing::Values(
        Mistake{R"({"optimizer": {"learning_rte": 1}})",
                "optimizer.learning_rte: unknown key of adamw; did you mean "
                "\"learning_rate\"?"},
        Mistake{R"({"distribution": {"bucket_byte": 1024}})",
                "distribution.bucket_byte: unknown key; did you mean "
                "\"bucket_bytes\"?"},
        Mistake{
            R"({"optimizer": {"type": "adamv"}})",
            "optimizer.type: unknown value \"adamv\"; did you mean \"adam\"?"},
        Mistake{R"({"optimizer": {"learning_rate": -1}})",
                "optimizer.learning_rate: expected at least 0, found -1"},
        Mistake{R"({"optimizer": {"betas": [0.9]}})",
                "optimizer.betas: expected a list of 2, found [0.9]"},
        Mistake{R"({"optimizer": {"betas": [0.9, 1]}})",
                "optimizer.betas.1: expected less than 1, found 1"},
        Mistake{R"({"loss": {"label_smoothing": 1}})",
                "loss.label_smoothing: expected less than 1, found 1"},
        Mistake{
            R"({"loss": 3})",
            "loss: expected a type such as \"softmax_cross_entropy\", or an "
            "object with it, found 3"},
        Mistake{R"({"clip": 1.0})",
                "clip: expected a type such as \"global_norm\", or an object "
                "with it, found 1.0"},
        Mistake{R"({"less_bn": 3})",
                "less_bn: expected an object, true or false, found 3"},
        Mistake{R"({"boost": true})",
                "boost: expected an object, or its `level` alone, found true"},
        Mistake{R"({"seed": 1.5})", "seed: expected an integer, found 1.5"},
        Mistake{R"({"seed": 1e30})", "seed: expected an integer, found 1e+30"},
        Mistake{R"({"seed": 18446744073709551615})",
                "seed: expected an integer, found 18446744073709551615"},
        Mistake{R"({"deterministic": 1})",
                "deterministic: expected true or false, found 1"},
        Mistake{R"({"metrics": "accuracy"})",
                "metrics: expected a list, found \"accuracy\""},
        Mistake{R"({"metrics": ["accuracy", "accuracy"]})",
                "metrics: \"accuracy\" stands twice"},
        Mistake{R"({"metrics": ["accuracy"], "loss": "mse"})",
                "metrics: \"accuracy\" needs labels that are classes, but "
                "loss.type is \"mse\""},
        Mistake{R"({"inputs": {"normalize": {"x": {"std": [0]}}}})",
                "inputs.normalize.x.std.0: expected at least 1e-12, found 0"},
        Mistake{R"({"inputs": {"augment": {"x": {"crop": 65536}}}})",
                "inputs.augment.x.crop: expected less than 65536, found 65536"},
        Mistake{R"({"inputs": {"augment": {"x": {"resized_crop":
                    {"ratio": [1, 1e7]}}}}})",
                "inputs.augment.x.resized_crop.ratio.1: expected less than "
                "1e+06, found 10000000.0"},
        Mistake{R"({"inputs": {"augment": 3}})",
                "inputs.augment: expected an object of names, found 3"},
        Mistake{R"({"inputs": {"dims": {"batch": 0}}})",
                "inputs.dims.batch: expected at least 1, found 0"},
        Mistake{R"({"clip": {"type": "global_norm", "value": -1.0}})",
                "clip.value: expected more than 0, found -1.0"},
        Mistake{R"({"clip": {"type": "global_norm", "value": 1e-46}})",
                "clip.value: expected 0, or a number that f32 does not take "
                "for it, found 1e-46"},
        Mistake{R"({"optimizer": {"learning_rate": -1e-39}})",
                "optimizer.learning_rate: expected at least 0, found -1e-39"},
        Mistake{R"({"optimizer": {"learning_rate": 1e-39}})",
                "optimizer.learning_rate: expected 0, or a number that f32 "
                "does not take for it, found 1e-39"},
        Mistake{R"({"fixed": ["\"2e-999"], "optimizer":
                    {"learning_rate": 1.0e-999}})",
                "the number 1.0e-999 would be read as 0; write 0"},
        Mistake{R"({"accumulation": 0})",
                "accumulation: expected at least 1, found 0"},
        Mistake{R"({"distribution": {"reduce": "sparse"}})",
                "distribution.reduce: unknown value \"sparse\"; known: plain, "
                "half, bf16, adasum, local, partial, sparse_topk, "
                "sparse_threshold"},
        Mistake{R"({"ema": {"warmup": 10}})",
                "ema.warmup: expected true or false, found 10"},
        Mistake{R"({"ema": {"decay": 1}})",
                "ema.decay: expected less than 1, found 1"},
        Mistake{R"({"loss_scale": {"type": "dynamic", "factor": 0.5}})",
                "loss_scale.factor: expected at least 1, found 0.5"},
        Mistake{R"({"schedule": {"learning_rate": [{"type": "cosin"}]}})",
                "schedule.learning_rate.0.type: unknown value \"cosin\"; did "
                "you mean \"cosine\"?"},
        Mistake{R"({"groups": [{"match": "*"}]})",
                "groups.0.match: expected a list, found \"*\""},
        Mistake{R"({"seed": 1, "seed": 2})", "the key \"seed\" stands twice"},
        Mistake{R"([])", "recipe: expected an object, found []"},
        Mistake{"{\n\"seed\": }", "parse error at line 2, column 9: syntax "
                                  "error while parsing value - unexpected '}'; "
                                  "expected '[', '{', or a literal"}));
