// Settings over a recipe: where they go, and whose mistake is whose.

#include "frontends/recipe/overrides.h"
#include "tests/frontends/recipe/reading.h"

using namespace gradus::recipe;
using nlohmann::json;

TEST(Overrides, IsOverriddenKeyByKey) {
  json recipe = accepted(
      R"({"optimizer": {"type": "sgd", "momentum": 0.5}})",
      {"optimizer.learning_rate=0.25", "loss=mse", "inputs.dims.batch=8"});
  EXPECT_EQ(recipe["optimizer"]["learning_rate"], 0.25);
  EXPECT_EQ(recipe["optimizer"]["momentum"], 0.5);
  EXPECT_EQ(recipe["loss"]["type"], "mse");
  EXPECT_EQ(recipe["inputs"]["dims"]["batch"], 8);
}

TEST(Overrides, AppendsToLists) {
  const char *text = R"({"passes": ["model:a"], "metrics": ["accuracy"]})";
  json recipe =
      accepted(text, {"passes+=methods:b{x=1 y=2}", "metrics+=\"top5\""});
  EXPECT_EQ(recipe["passes"], json({"model:a", "methods:b{x=1 y=2}"}));
  EXPECT_EQ(recipe["metrics"], json({"accuracy", "top5"}));
  EXPECT_EQ(accepted("{}", {"passes+=model:a"})["passes"], json({"model:a"}));
  EXPECT_EQ(accepted("{}")["passes"], json());
  EXPECT_EQ(refused(R"({"seed": 3})", {"seed+=2"}),
            "--set seed+=2: += expects a list at \"seed\", found 3");
}

TEST(Overrides, BlamesTheOverrideThatAMistakeComesFrom) {
  EXPECT_EQ(
      refused(R"({"sede": 1, "seed": -1, "optimizer": {"momentum": 2}})",
              {"seed=0",
               "seed=-2",
               "optimizer=adamv",
               {"inputs.dims.batch=0", "--dim batch=0"}}),
      "r.json: sede: unknown key; did you mean \"seed\"?\n"
      "  --dim batch=0: inputs.dims.batch: expected at least 1, found 0\n"
      "  --set optimizer=adamv: optimizer.type: unknown value \"adamv\"; did "
      "you mean \"adam\"?\n"
      "  --set seed=-2: seed: expected at least 0, found -2");
  EXPECT_EQ(
      refused("{}", {"distribution.reduce=partiel"}),
      "--set distribution.reduce=partiel: distribution.reduce: unknown value "
      "\"partiel\"; did you mean \"partial\"?");
}

TEST(Overrides, SetWithinShortForms) {
  json recipe = accepted(
      R"({"groups": [{"match": ["a"], "optimizer": "sgd"}],
          "inputs": {"augment": {"x": {"resized_crop": true}}}})",
      {"groups.0.optimizer.momentum=0.5",
       "inputs.augment.x.resized_crop.scale=[0.5, 1.0]"});
  EXPECT_EQ(recipe["groups"][0]["optimizer"]["type"], "sgd");
  EXPECT_EQ(recipe["groups"][0]["optimizer"]["momentum"], 0.5);
  EXPECT_EQ(recipe["inputs"]["augment"]["x"]["resized_crop"]["scale"][0], 0.5);
}

/// A word stands for a number, a name for an object.
TEST(Overrides, TakeWordsForWholeValues) {
  json shared = accepted(
      "{}", {"distribution=data_parallel", "distribution.reduce=adasum",
             "distribution.adasum.within=host"})["distribution"];
  EXPECT_EQ(shared["mode"], "data_parallel");
  EXPECT_EQ(shared["adasum"]["within"], 0);
  EXPECT_EQ(refused("{}", {"distribution.adasum.within=hosts"}),
            "--set distribution.adasum.within=hosts: "
            "distribution.adasum.within: expected an integer, found "
            "\"hosts\"");
}

// The default list follows from the type, wherever that is said.
TEST(Overrides, SetWithinListsThatAreNotSaid) {
  auto betas = [](const Overrides &overrides) {
    return accepted("{}", overrides)["optimizer"]["betas"];
  };
  EXPECT_EQ(betas({"optimizer.betas.0=0.8"}), json({0.8, 0.999}));
  EXPECT_EQ(betas({"optimizer.betas.0=0.8", "optimizer.type=lion"}),
            json({0.8, 0.99}));
  EXPECT_EQ(betas({"optimizer.betas.0=0.8", "optimizer.betas=[0.5, 0.6]"}),
            json({0.5, 0.6}))
      << "the later counts";
  EXPECT_EQ(betas({"optimizer.betas=[0.5, 0.6]", "optimizer.betas.0=0.8"}),
            json({0.8, 0.6}));
  EXPECT_EQ(refused("{}", {"optimizer.betas.2=0.8"}),
            "--set optimizer.betas.2=0.8: optimizer.betas has no element "
            "\"2\"; expected 0 to 1, or one more, optimizer.betas+=VALUE");
  EXPECT_EQ(refused("{}", {"optimizer=sgd", "optimizer.betas.0=0.8"}),
            "--set optimizer.betas.0=0.8: optimizer.betas: unknown key of sgd; "
            "adam, adamw, adamax, nadam, radam, lamb, lion have it");
}

// Each counts, in the order of the command line.
TEST(Overrides, SetAnElementAndAddOne) {
  auto lists = [](const Overrides &overrides) {
    return accepted("{}", overrides);
  };
  Overrides both = {"groups+={\"match\": [\"a\"]}", "groups.0.frozen=true",
                    "groups+={\"match\": [\"b\"]}"};
  json groups = lists(both)["groups"];
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0]["frozen"], true);
  EXPECT_EQ(groups[1]["match"], json({"b"}));
  EXPECT_EQ(refused("{}", {"optimizer.betas.0=0.8", "optimizer.betas+=0.5"}),
            "--set optimizer.betas+=0.5: optimizer.betas: expected a list of "
            "2, found [0.8,0.999,0.5]");
  EXPECT_EQ(refused("{}", {"metrics.0=accuracy", "metrics+=top5"}),
            "--set metrics.0=accuracy: metrics is an empty list; expected a "
            "whole element, metrics+=VALUE");
  EXPECT_EQ(lists({"metrics+=top5", "metrics=[\"accuracy\"]"})["metrics"],
            json({"accuracy"}))
      << "the later counts";
  EXPECT_EQ(refused(R"({"groups": [{"match": ["a"]}]})", {"groups.0+=x"}),
            "--set groups.0+=x: += expects a list at \"groups.0\", found "
            "{\"match\":[\"a\"]}");
}

TEST(Overrides, WriteAnIndexAsAKey) {
  const char *recipe = R"({"groups": [{"match": ["a"]}]})";
  EXPECT_EQ(refused(recipe, {"groups[0].frozen=true"}),
            "--set groups[0].frozen=true: write groups.0.frozen");
  EXPECT_EQ(refused(recipe, {"groups.0.match[0]=b"}),
            "--set groups.0.match[0]=b: write groups.0.match.0");
  // A name may have brackets.
  EXPECT_EQ(accepted("{}", {"inputs.dims.x[0]=4"})["inputs"]["dims"]["x[0]"],
            4);
}

struct BadOverride {
  const char *override, *words;
};

class RefusedOverride : public testing::TestWithParam<BadOverride> {};

TEST_P(RefusedOverride, SaysWhy) {
  EXPECT_EQ(refused("{\"metrics\": [], \"seed\": 7}", {GetParam().override}),
            GetParam().words);
}

INSTANTIATE_TEST_SUITE_P(
    Overrides, RefusedOverride,
    testing::Values(
        BadOverride{"seed", "--set seed: expected key=value"},
        BadOverride{"optimizer.learning_rate=1e-999",
                    "--set optimizer.learning_rate=1e-999: the number 1e-999 "
                    "would be read as 0; write 0"},
        BadOverride{"seed+=2", "--set seed+=2: += expects a list at "
                               "\"seed\", found 7"},
        BadOverride{"metrics.0=x",
                    "--set metrics.0=x: metrics is an empty list; expected a "
                    "whole element, metrics+=VALUE"},
        BadOverride{"schedule.learning_rate.0.final=0.1",
                    "--set schedule.learning_rate.0.final=0.1: "
                    "schedule.learning_rate is an empty list; expected a whole "
                    "element, schedule.learning_rate+=VALUE"},
        BadOverride{"seed.first=1",
                    "--set seed.first=1: seed is 7, which has no \"first\""},
        BadOverride{"seed=\xff", "--set seed=\xff: not UTF-8"},
        BadOverride{
            "seed=many",
            "--set seed=many: seed: expected an integer, found \"many\""},
        BadOverride{
            "inputs.rate=1",
            "--set inputs.rate=1: inputs.rate: unknown key; known: dims, "
            "normalize, augment, last_batch"}));
