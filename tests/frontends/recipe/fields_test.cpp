// The table of recipe keys is sound: every default is a value of its own field.

#include "frontends/recipe/fields.h"
#include "tests/frontends/recipe/reading.h"

using namespace gradus::recipe;
using nlohmann::json;

static void visit(const Field &field) {
  EXPECT_FALSE(field.help.empty()) << field.key;
  EXPECT_TRUE(nlohmann::json::accept(field.fallback)) << field.key;
  EXPECT_EQ(field.kind == Kind::choice || field.kind == Kind::variant,
            !field.choices.empty())
      << field.key;
  for (const Field &inner : field.fields)
    visit(inner);
  for (const Choice &choice : field.choices)
    for (const Field &inner : choice.fields)
      visit(inner);
}

TEST(RecipeFields, SayWhatTheyAreFor) { visit(recipeField()); }

TEST(RecipeFields, HaveDefaultsThatAreBuilt) {
  auto recipe = readFile("");
  EXPECT_TRUE(recipe.ok()) << recipe.status();
}

TEST(Methods, AreSwitchedByTrueAndFalse) {
  for (const char *key : {"less_bn", "fc_to_fn", "gradient_centralization",
                          "gradient_freeze", "ema"}) {
    EXPECT_EQ(accepted("{}")[key], nullptr) << key;
    std::string setting = std::string(key) + "=";
    EXPECT_TRUE(accepted("{}", {setting + "true"})[key].is_object()) << key;
    EXPECT_EQ(accepted("{}", {setting + "true", setting + "false"})[key],
              false);
    EXPECT_EQ(accepted("{}", {setting + "null"})[key], nullptr);
  }
}

TEST(Methods, AreSwitchedOffThoughTheyNeedMoreToBeOn) {
  for (const char *key : {"clip", "loss_scale"}) {
    std::string setting = std::string(key) + "=";
    EXPECT_EQ(accepted("{}", {setting + "false"})[key], false);
    EXPECT_EQ(read("{}", "r", {setting + "true"}).status().message(),
              "--set " + setting + "true: " + key +
                  ".type: is missing; known: " +
                  (key[0] == 'c' ? "global_norm, norm, value, adaptive"
                                 : "static, dynamic, group"));
  }
  EXPECT_EQ(accepted("{}", {"precision=f16", "loss_scale=false"})["loss_scale"],
            false);
}

TEST(Methods, AreSetOverTheirShortForms) {
  for (const char *was : {"true", "false", "null", "{}"}) {
    json recipe =
        accepted(std::string(R"({"gradient_centralization": )") + was + "}",
                 {"gradient_centralization.placement=after_weight_decay"});
    EXPECT_EQ(recipe["gradient_centralization"]["placement"],
              "after_weight_decay")
        << was;
  }
  json recipe = accepted(R"({"boost": "O1", "optimizer": "sgd"})",
                         {"boost.compat=mindspore", "optimizer.momentum=0.5"});
  EXPECT_EQ(recipe["boost"]["level"], "O1");
  EXPECT_EQ(recipe["gradient_freeze"]["compat"], "mindspore");
  EXPECT_EQ(recipe["optimizer"]["type"], "sgd");
}

TEST(Methods, HaveDefaults) {
  json recipe = accepted(
      R"({"fc_to_fn": true, "gradient_centralization": {}, "less_bn": {}})");
  EXPECT_EQ(recipe["fc_to_fn"],
            json::parse(R"({"epsilon": 1e-4, "bias": false})"));
  EXPECT_EQ(
      recipe["gradient_centralization"],
      json::parse(
          R"({"placement": "before_weight_decay", "kinds": ["convolution", "dense"],
              "grouped": true, "second_axis_multiple": 1, "compat": null})"));
  EXPECT_EQ(recipe["less_bn"], json::parse(R"({"keep": []})"));
}

TEST(Methods, RefuseWhatTheyDoNotKnow) {
  auto recipe =
      read(R"({"gradient_centralization": {"kinds": ["norm"]}})", "r");
  EXPECT_EQ(
      recipe.status().message(),
      "r: gradient_centralization.kinds.0: unknown value \"norm\"; known: "
      "convolution, dense, embedding");
}

TEST(Methods, HaveTheDefaultsOfTheFrameworkThatTheyFollow) {
  json recipe = accepted(
      R"({"compat": "mindspore", "gradient_centralization": {"grouped": null},
          "clip": {"type": "norm", "norm_epsilon": 0.5},
          "gradient_freeze": {"compat": "pytorch"}})");
  EXPECT_EQ(recipe["gradient_centralization"]["placement"],
            "after_weight_decay");
  EXPECT_EQ(recipe["gradient_centralization"]["grouped"], false);
  EXPECT_EQ(recipe["clip"]["norm_epsilon"], 0.5);
  EXPECT_EQ(recipe["gradient_freeze"]["by_name"], false);
  recipe = accepted(R"({"clip": {"type": "global_norm", "value": 2}})",
                    {"compat=timm"});
  EXPECT_EQ(recipe["clip"]["divide"], true);
}

// Artifacts have the whole recipe: those without such convolutions stay as they
// were before there was a choice.
TEST(Convolutions, AreSaidOnlyWhereTheyAreNotTheDefault) {
  EXPECT_FALSE(accepted("{}").contains("convolutions"));
  EXPECT_EQ(accepted(R"({"convolutions": "auto"})"), accepted("{}"));
  json direct = accepted(R"({"convolutions": "direct"})");
  EXPECT_EQ(direct["convolutions"], "direct");
  EXPECT_EQ(accepted(direct.dump(), {"convolutions=auto"}), accepted("{}"));
  EXPECT_EQ(refused(R"({"convolutions": "winograd"})"),
            "r.json: convolutions: unknown value \"winograd\"; known: auto, "
            "direct");
}
