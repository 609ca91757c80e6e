// What a user may say of the emulated card.

#include "runtime/emulated/fake_options.h"

#include <gtest/gtest.h>

using namespace gradus::runtime::cuda;

TEST(FakeOptions, AreWordsWithNumbers) {
  auto options =
      readFakeOptions(" memory=65536  seed=7 lost-at=3 out-of-memory-at=0 "
                      "slow-library=1 no-epilogues=164 operations=1");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->memoryBytes, 65536u);
  EXPECT_EQ(options->seed, 7u);
  EXPECT_EQ(options->lostAt, 3);
  EXPECT_EQ(options->outOfMemoryAt, 0);
  EXPECT_TRUE(options->slowLibrary);
  EXPECT_EQ(options->lackedEpilogues, 164u);
  EXPECT_TRUE(options->countsOperations);
  auto none = readFakeOptions("");
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->memoryBytes, FakeOptions().memoryBytes);
  EXPECT_EQ(none->lostAt, -1);
  EXPECT_FALSE(none->slowLibrary);
  EXPECT_FALSE(none->countsOperations);
}

TEST(FakeOptions, SayWhatIsNone) {
  auto words = [](const char *text) {
    return readFakeOptions(text).status().message();
  };
  EXPECT_EQ(words("lost-at=3 speed=9"),
            "'speed' is not one of memory, seed, lost-at, out-of-memory-at, "
            "slow-library, no-epilogues, operations");
  for (std::string word : {"no-epilogues=1", "no-epilogues=2000000000000"})
    EXPECT_EQ(words(word.c_str()),
              "'" + word +
                  "' has bits that are no epilogue; those of 2, 4, "
                  "32, 64, 128, 256 and 512 are");
  for (std::string word : {"memory", "memory=", "memory=-1", "memory=1k", "="})
    EXPECT_EQ(words(word.c_str()), "'" + word + "' is not KEY=NUMBER");
}
