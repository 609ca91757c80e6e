// Words of other tools, however they are spelt.

#include "recipe/synonyms.h"

#include <gtest/gtest.h>
#include <set>

using namespace gradus;

static std::string_view meaningOf(std::string_view word) {
  std::vector<Synonym> found = synonymsOf(word);
  return found.empty() ? "" : found.front().meaning;
}

TEST(Synonyms, AreFoundHoweverTheyAreSpelt) {
  for (const char *word : {"CosineAnnealingLR", "cosine_annealing_lr",
                           "cosine-annealing-lr", "COSINE_ANNEALING_LR"})
    EXPECT_EQ(meaningOf(word), "schedule.learning_rate=[{\"type\": \"cosine\", "
                               "\"rest\": true}]")
        << word;
  EXPECT_EQ(meaningOf("--lr"), "optimizer.learning_rate");
  EXPECT_EQ(meaningOf("16-mixed"), "precision=f16");
  EXPECT_EQ(meaningOf("lrr"), "");
}

TEST(Synonyms, AreKeysValuesOrOptions) {
  Synonym key{"lr", "optimizer.learning_rate"};
  EXPECT_FALSE(key.isOption());
  EXPECT_EQ(key.key(), "optimizer.learning_rate");
  EXPECT_EQ(key.value(), "");
  Synonym value{"amp", "precision=bf16"};
  EXPECT_EQ(value.key(), "precision");
  EXPECT_EQ(value.value(), "bf16");
  Synonym option{"batch", "compile --dim batch=N"};
  EXPECT_TRUE(option.isOption());
  EXPECT_EQ(option.command(), "compile");
  EXPECT_EQ(option.option(), "--dim batch=N");
}

TEST(Synonyms, AreNoneWhereNothingIsNeeded) {
  EXPECT_EQ(
      whyNeedless("--prefetch-factor"),
      "batches are prepared while the step before runs, by --data-threads");
  EXPECT_EQ(whyNeedless("lr"), "");
  for (const NeedlessWord &each : kNeedlessWords)
    EXPECT_TRUE(synonymsOf(each.word).empty()) << each.word;
}

TEST(Synonyms, StandOnceForEachMeaning) {
  std::set<std::pair<std::string, std::string_view>> seen;
  for (const Synonym &each : kSynonyms)
    EXPECT_TRUE(seen.insert({bareWord(each.word), each.meaning}).second)
        << each.word << ", " << each.meaning;
}
