// What a recipe may have meant by words of other tools.

#include "frontends/recipe/suggestions.h"

#include "frontends/message.h"
#include "frontends/recipe/fields.h"
#include "frontends/recipe/recipe.h"
#include "recipe/synonyms.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace gradus;
using namespace gradus::recipe;

static std::string said(std::string_view recipe) {
  auto read = recipe::read(recipe, "r");
  return std::string(read.status().message());
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

/// Whether some type of a field has the key.
static bool hasKey(const Field &field, std::string_view path) {
  std::string_view key = path.substr(0, path.find('.'));
  std::string_view rest =
      key.size() == path.size() ? "" : path.substr(key.size() + 1);
  auto leads = [&](const Field &part) {
    return rest.empty() || hasKey(part, rest);
  };
  if (field.kind == Kind::list || field.kind == Kind::named)
    return leads(field.fields[0]);
  if (field.kind == Kind::variant && path == "type")
    return true;
  auto isIt = [&](const Field &part) { return part.key == key && leads(part); };
  return std::ranges::any_of(field.fields, isIt) ||
         std::ranges::any_of(field.choices, [&](const Choice &choice) {
           return std::ranges::any_of(choice.fields, isIt);
         });
}

// Options are checked by tests/docs/words_test.py.
TEST(SynonymTable, LeadsToKeysAndValuesThatThereAre) {
  for (const Synonym &each : kSynonyms)
    if (!each.isOption()) {
      EXPECT_TRUE(hasKey(recipeField(), each.key())) << each.meaning;
      if (each.value().empty())
        continue;
      auto recipe = recipe::read("{}", "r", {std::string(each.meaning)});
      EXPECT_TRUE(recipe.ok()) << recipe.status();
    }
}
