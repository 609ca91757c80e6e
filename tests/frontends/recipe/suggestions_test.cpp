// What a recipe may have meant by words of other tools.

#include "frontends/recipe/suggestions.h"

#include "frontends/recipe/fields.h"
#include "frontends/recipe/recipe.h"
#include "messages/message.h"
#include "recipe/synonyms.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace gradus;
using namespace gradus::recipe;

static std::string said(std::string_view recipe) {
  auto read = recipe::read(recipe, "r");
  return std::string(read.status().message());
}

TEST(Suggestions, WriteAPathAsObjects) {
  EXPECT_EQ(
      suggestionForKey("", "optimizer.learning_rate", {"loss", "optimizer"}),
      "; write \"optimizer\": {\"learning_rate\": ...}");
}

TEST(Suggestions, LeadFromOtherToolsKeysToOurs) {
  EXPECT_EQ(said(R"({"optimizer": {"lr": 1}})"),
            "r: optimizer.lr: unknown key of adamw; did you mean "
            "\"learning_rate\"?");
  EXPECT_EQ(said(R"({"optimizer": {"type": "adam", "beta1": 0.9}})"),
            "r: optimizer.beta1: unknown key of adam; did you mean \"betas\"?");
  EXPECT_EQ(said(R"({"learning_rate": 1})"),
            "r: learning_rate: unknown key; did you mean "
            "\"optimizer.learning_rate\"?");
  EXPECT_EQ(said(R"({"groups": [{"params": ["*"], "lr": 1}]})"),
            "r: groups.0.params: unknown key; did you mean \"match\"?\n"
            "  r: groups.0.lr: unknown key; did you mean \"learning_rate\"?");
  EXPECT_EQ(said(R"({"clip": {"type": "norm", "max_norm": 1}})"),
            "r: clip.max_norm: unknown key of norm; did you mean \"value\"?");
}

TEST(Suggestions, SayWhatANumberBecomes) {
  EXPECT_EQ(said(R"({"schedule": {"learning_rate":
                    [{"type": "cosine", "rest": true, "eta_min": 1e-5}]}})"),
            "r: schedule.learning_rate.0.eta_min: unknown key of cosine; did "
            "you mean \"final\"? It is a factor of the learning rate: "
            "eta_min / learning_rate");
  EXPECT_EQ(said(R"({"min_lr": 1e-5})"),
            "r: min_lr: unknown key; did you mean "
            "\"schedule.learning_rate.0.final\"? It is a factor of the "
            "learning rate: min_lr / learning_rate");
  EXPECT_EQ(said(R"({"distribution": {"spars": 0.05}})"),
            "r: distribution.spars: unknown key; did you mean \"ratio\"? It is "
            "what sparse_topk sends; with sparse_threshold take "
            "distribution.threshold");
}

TEST(Suggestions, ShowTheValueThatAWordStandsFor) {
  EXPECT_EQ(said(R"({"fp16": true})"),
            "r: fp16: unknown key; did you mean \"precision\": \"f16\"?");
  EXPECT_EQ(said(R"({"max_grad_norm": 1.0})"),
            "r: max_grad_norm: unknown key; did you mean \"clip\": {\"type\": "
            "\"global_norm\", \"value\": 1.0}?");
  EXPECT_EQ(said(R"({"optimizer": {"warmup_steps": 5}})"),
            "r: optimizer.warmup_steps: unknown key of adamw; did you mean "
            "\"schedule.learning_rate\": [{\"type\": \"linear_warmup\", "
            "\"steps\": 500}]?");
}

TEST(Suggestions, NameOptionsOfCommands) {
  EXPECT_EQ(said(R"({"batch_size": 32})"),
            "r: batch_size: unknown key; it is an option: gradus compile --dim "
            "batch=N");
  EXPECT_EQ(said(R"({"early_stopping": true})"),
            "r: early_stopping: unknown key; it is an option: gradus train "
            "--patience");
}

TEST(Suggestions, NameOtherObjectsForOurOwnKeys) {
  EXPECT_EQ(said(R"({"optimizer": {"ema": 1}})"),
            "r: optimizer.ema: unknown key of adamw; did you mean the recipe's "
            "\"ema\"?");
  EXPECT_EQ(said(R"({"optimizer": {"la_steps": 6}})"),
            "r: optimizer.la_steps: unknown key of adamw; did you mean "
            "\"lookahead.steps\"?");
  EXPECT_EQ(said(R"({"lookahead": {"k": 6, "alpha": 0.5}})"),
            "r: lookahead.k: unknown key; did you mean \"steps\"?\n"
            "  r: lookahead.alpha: unknown key; did you mean \"rate\"?");
}

TEST(Suggestions, NameKeysOfObjectsWithin) {
  EXPECT_EQ(said(R"({"precondition": {"type": "thor", "frequency": 50}})"),
            "r: precondition.frequency: unknown key of thor; write "
            "\"refresh\": {\"every\": ...}");
  EXPECT_EQ(said(R"({"precondition": {"type": "kfac", "factor_decay": 0.9}})"),
            "r: precondition.factor_decay: unknown key of kfac; did you mean "
            "\"decay\"?");
  EXPECT_EQ(said(R"({"update_freq": 2})"),
            "r: update_freq: unknown key; did you mean \"accumulation\"?");
  EXPECT_EQ(said(R"({"optimizer": {"type": "sgd", "frequency": 50}})"),
            "r: optimizer.frequency: unknown key of sgd; did you mean "
            "\"precondition.refresh.every\"?");
}

// The optimizer thor has keys of `precondition`, beside which it is refused.
TEST(Suggestions, LeadToKeysOfTheOptimizerThor) {
  EXPECT_EQ(said(R"({"optimizer": {"type": "thor", "frequency": 50}})"),
            "r: optimizer.frequency: unknown key of thor; write \"refresh\": "
            "{\"every\": ...}");
  EXPECT_EQ(said(R"({"optimizer": {"type": "thor", "factor_decay": 0.9}})"),
            "r: optimizer.factor_decay: unknown key of thor; did you mean "
            "\"decay\"?");
  EXPECT_EQ(
      said(R"({"optimizer": {"type": "thor", "enable_clip_grad": true}})"),
      "r: optimizer.enable_clip_grad: unknown key of thor; did you mean "
      "\"clip_update\"?");
  EXPECT_EQ(said(R"({"optimizer": "thor", "damping": 0.1})"),
            "r: damping: unknown key; did you mean \"optimizer.damping\"?");
  EXPECT_EQ(said(R"({"optimizer": "sgd", "damping": 0.1})"),
            "r: damping: unknown key; did you mean \"precondition.damping\"?");
  EXPECT_EQ(said(R"({"enable_clip_grad": true})"),
            "r: enable_clip_grad: unknown key; did you mean \"clip_update\": "
            "{\"type\": \"norm\"}?");
}

TEST(Suggestions, NameTheTypesThatHaveAKey) {
  EXPECT_EQ(said(R"({"optimizer": {"momentum": 0.9}})"),
            "r: optimizer.momentum: unknown key of adamw; sgd, rmsprop, lars, "
            "muon, thor have it");
  EXPECT_EQ(said(R"({"optimizer": {"centered": true}})"),
            "r: optimizer.centered: unknown key of adamw; rmsprop has it");
}

TEST(Suggestions, NameTheTypesThatHaveAKeyWhereTheTypeIsMissing) {
  EXPECT_EQ(said(R"({"clip": {"value": 1, "norm_epsilon": 0}})"),
            "r: clip.type: is missing; known: global_norm, norm, value, "
            "adaptive; global_norm, norm have \"norm_epsilon\"");
  EXPECT_EQ(said(R"({"clip": {"epsilon": 0.1, "max": 1}})"),
            "r: clip.type: is missing; known: global_norm, norm, value, "
            "adaptive; adaptive has \"epsilon\"; none has \"max\"");
}

TEST(Suggestions, SayWhereNothingIsNeeded) {
  EXPECT_EQ(
      said(R"({"prefetch_factor": 4})"),
      "r: prefetch_factor: unknown key; batches are prepared while the step "
      "before runs, by --data-threads");
  EXPECT_EQ(said(R"({"metrics": ["f1"]})"),
            "r: metrics.0: unknown value \"f1\"; `gradus evaluate` prints a "
            "confusion matrix, or MAE, RMSE and R2");
}

// A type elsewhere may be an option, or a method's key, here.
TEST(Suggestions, LeadFromOtherToolsTypesToOptionsAndMethods) {
  EXPECT_EQ(said(R"({"schedule": {"learning_rate":
                    [{"type": "ReduceLROnPlateau"}]}})"),
            "r: schedule.learning_rate.0.type: unknown value "
            "\"ReduceLROnPlateau\"; it is an option: gradus train --set "
            "optimizer.learning_rate=VALUE");
  EXPECT_EQ(said(R"({"optimizer": "lookahead"})"),
            "r: optimizer.type: unknown value \"lookahead\"; did you mean "
            "\"lookahead\": true?");
}

// A type that lacks the key is not said to have it.
TEST(Suggestions, AreOfKeysThatTheTypeHas) {
  std::string words = said(R"({"optimizer": {"type": "rprop", "eps": 1}})");
  EXPECT_TRUE(words.starts_with("r: optimizer.eps: unknown key of rprop; "
                                "known: learning_rate, factors, sizes, "))
      << words;
}

TEST(Suggestions, LeadFromOtherToolsValuesToOurs) {
  for (auto [key, word, ours] :
       {std::tuple{"loss", "CrossEntropyLoss", "softmax_cross_entropy"},
        {"loss", "bce", "bce_with_logits"},
        {"loss", "l2", "mse"},
        {"optimizer", "adamw_torch_fused", "adamw"},
        {"precision", "bf16-mixed", "bf16"},
        {"clip", "clip_by_norm", "norm"}}) {
    std::string words = said(message("{\"", key, "\": \"", word, "\"}"));
    EXPECT_NE(words.find(message("unknown value \"", word,
                                 "\"; did you mean \"", ours, "\"?")),
              words.npos)
        << words;
  }
  EXPECT_EQ(said(R"({"schedule": {"learning_rate": [{"type": "StepLR"}]}})"),
            "r: schedule.learning_rate.0.type: unknown value \"StepLR\"; did "
            "you mean \"step\"?");
  EXPECT_EQ(said(R"({"metrics": ["acc"]})"),
            "r: metrics.0: unknown value \"acc\"; did you mean \"accuracy\"?");
}

TEST(Suggestions, AreTheNearestNamesElse) {
  EXPECT_EQ(suggestionForKey("", "losss", {"loss", "seed"}),
            "; did you mean \"loss\"?");
  EXPECT_EQ(suggestionForValue("xyz", {"one", "two"}), "; known: one, two");
}

//===-- the table ---------------------------------------------------------===//

/// The field of a path, in the first type that has it; null where none does.
static const Field *fieldAt(const Field &field, std::string_view path) {
  std::string_view key = path.substr(0, path.find('.'));
  std::string_view rest =
      key.size() == path.size() ? "" : path.substr(key.size() + 1);
  if (path.empty())
    return &field;
  if (field.kind == Kind::list || field.kind == Kind::named)
    return fieldAt(field.fields[0], rest);
  std::vector<const Fields *> objects = {&field.fields};
  for (const Choice &choice : field.choices)
    objects.push_back(&choice.fields);
  for (const Fields *object : objects)
    for (const Field &part : *object)
      if (part.key == key)
        if (const Field *found = fieldAt(part, rest))
          return found;
  return nullptr;
}

TEST(SynonymTable, SaysWhichKeysMayBeSetWhileTraining) {
  for (const Synonym &each : kSynonyms)
    if (const Field *field =
            each.isOption() ? nullptr : fieldAt(recipeField(), each.meaning))
      EXPECT_EQ(each.isSettable(), field->isSettable) << each.meaning;
}

TEST(SynonymTable, ConvertsWordsThatItHas) {
  for (const ConvertedWord &each : kConvertedWords)
    EXPECT_FALSE(synonymsOf(each.word).empty()) << each.word;
}

/// Whether `--set KEY=VALUE` would put a value where an object or a list goes.
static bool isObject(const Field &field) {
  bool isStructured = field.kind == Kind::variant ||
                      field.kind == Kind::object || field.kind == Kind::list;
  return isStructured && field.shortForms.key.empty() &&
         !field.shortForms.isSwitch &&
         !(field.kind == Kind::list && field.fields[0].kind != Kind::variant &&
           field.fields[0].kind != Kind::object);
}

TEST(SynonymTable, WritesSettingsOfWhatIsNoSingleValue) {
  auto hasSetting = [](std::string_view key) {
    return std::ranges::count(kObjectKeys, key, &ObjectKey::key) != 0;
  };
  for (const Synonym &each : kSynonyms)
    if (const Field *field = each.isOption() || !each.value().empty()
                                 ? nullptr
                                 : fieldAt(recipeField(), each.key());
        field && isObject(*field))
      EXPECT_TRUE(hasSetting(each.key())) << each.meaning;
  for (const ObjectKey &each : kObjectKeys)
    EXPECT_TRUE(fieldAt(recipeField(), each.key)) << each.key;
}

TEST(SynonymTable, HasEachKeyOfTheRecipe) {
  for (const Field &field : recipeField().fields)
    EXPECT_TRUE(std::ranges::any_of(
        synonymsOf(field.key),
        [&](const Synonym &each) { return each.key() == field.key; }))
        << field.key;
}

// Options are checked by tests/docs/words_test.py.
TEST(SynonymTable, LeadsToKeysAndValuesThatThereAre) {
  for (const Synonym &each : kSynonyms)
    if (!each.isOption()) {
      EXPECT_TRUE(fieldAt(recipeField(), each.key()) ||
                  each.key().ends_with(".type"))
          << each.meaning;
      if (each.value().empty())
        continue;
      auto recipe = recipe::read("{}", "r", {std::string(each.meaning)});
      EXPECT_TRUE(recipe.ok()) << recipe.status();
    }
}
