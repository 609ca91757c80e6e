// What is near a word that is not known.

#include "passes/likeness.h"

#include <gtest/gtest.h>

#include <string>

using namespace gradus;
using Names = std::vector<std::string>;

TEST(Likeness, CountsTheCaseOfLettersLast) {
  EXPECT_EQ(byLikeness("LESS-BN", Names{"fuse", "less-bn", "Less-BN"}),
            (llvm::SmallVector<llvm::StringRef>{"Less-BN", "less-bn", "fuse"}));
  EXPECT_EQ(nearest("LESS-BN", Names{"fuse", "less-bn"}), "less-bn");
}

TEST(Likeness, KeepsTheOrderOfWhatIsEquallyNear) {
  EXPECT_EQ(byLikeness("fc1", Names{"fc3", "fc2"}),
            (llvm::SmallVector<llvm::StringRef>{"fc3", "fc2"}));
}

TEST(Likeness, GivesNoneWhereHalfTheLettersDiffer) {
  EXPECT_EQ(nearest("clip", Names{"fuse", "a-long-name"}), "");
  EXPECT_EQ(nearest("clip", Names{}), "");
}
