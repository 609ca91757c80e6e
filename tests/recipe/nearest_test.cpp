// What is near a word that is not known.

#include "recipe/nearest.h"

#include <gtest/gtest.h>

using namespace gradus;
using Names = std::vector<std::string>;
using Views = std::vector<std::string_view>;

TEST(Nearest, CountsTheCaseOfLettersLast) {
  EXPECT_EQ(byLikeness("LESS-BN", Names{"fuse", "less-bn", "Less-BN"}),
            (Views{"Less-BN", "less-bn", "fuse"}));
  EXPECT_EQ(nearest("LESS-BN", Names{"fuse", "less-bn"}), "less-bn");
  EXPECT_EQ(nearest("Fc", Names{"FC", "fc", "Fc2"}), "FC");
}

TEST(Nearest, KeepsTheOrderOfWhatIsEquallyNear) {
  EXPECT_EQ(byLikeness("fc1", Names{"fc3", "fc2"}), (Views{"fc3", "fc2"}));
}

TEST(Nearest, IsNoneWhereHalfTheLettersDiffer) {
  EXPECT_EQ(nearest("clip", Names{"fuse", "a-long-name"}), "");
  EXPECT_EQ(nearest("clip", Names{}), "");
  EXPECT_EQ(nearest("", Names{"train"}), "");
}

TEST(Nearest, CountsInsertedLeftOutAndChangedLetters) {
  EXPECT_EQ(likeness("train", "train").second, 0u);
  EXPECT_EQ(likeness("train", "rain").second, 1u);
  EXPECT_EQ(likeness("train", "strain").second, 1u);
  EXPECT_EQ(likeness("train", "traan").second, 1u);
  EXPECT_EQ(likeness("train", "Train"), (std::pair<size_t, size_t>(0, 1)));
  EXPECT_EQ(likeness("kitten", "sitting").second, 3u);
}
