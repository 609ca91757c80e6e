// Facts that tell one data set from another.

#include "tests/training/data/files.h"
#include "tool/evaluate/shared_data.h"
#include "tool/failure.h"

using namespace gradus;
using namespace gradus::cli;
using namespace gradus::runtime;

namespace {

Facts factsOfNumbers(const std::vector<int64_t> &numbers) {
  data::Folder folder;
  auto set = *data::Dataset::open(
      {"x=" + folder.write("x.npy", data::numbersFile(numbers))});
  auto feed = *data::Feed::match(set, {{"x", {DType::i64, {2}}, 16}});
  return factsOf(feed, "samples");
}

} // namespace

TEST(SharedData, IsKnownByItsSizeAndSamples) {
  Facts facts = factsOfNumbers({1, 2, 3});
  EXPECT_EQ(facts[0], (std::pair<std::string, std::string>(
                          "the number of samples", "3")));
  EXPECT_EQ(facts[1].first, "the hash of some samples");
  EXPECT_EQ(factsOfNumbers({1, 2, 3}), facts);
  for (std::vector<int64_t> other :
       {std::vector<int64_t>{0, 2, 3}, {1, 0, 3}, {1, 2, 0}, {1, 3, 2}})
    EXPECT_NE(factsOfNumbers(other)[1], facts[1]);
  EXPECT_NE(factsOfNumbers({1, 2, 3, 4})[0], facts[0]);
}

TEST(SharedData, MayBeOneSampleOrMany) {
  EXPECT_NE(factsOfNumbers({1, 1})[1], factsOfNumbers({2, 2})[1]);
  std::vector<int64_t> many(1000, 7), other = many;
  other.back() = 8;
  EXPECT_NE(factsOfNumbers(many)[1], factsOfNumbers(other)[1]);
}

/// An image that cannot be decoded is found before the first step.
TEST(SharedData, IsReadToBeKnown) {
  data::Folder folder;
  std::filesystem::create_directories(folder.path("images/cat"));
  for (const char *name : {"1.png", "2.png"})
    folder.write(std::string("images/cat/") + name, "no image");
  auto set = data::Dataset::open({folder.path("images")});
  ASSERT_TRUE(set.ok()) << set.status();
  auto feed = data::Feed::match(
      *set, {{"image", {DType::f32, {2, 1, 4, 4}}, 2 * 16 * 4}});
  ASSERT_TRUE(feed.ok()) << feed.status();
  EXPECT_THROW(factsOf(*feed, "samples"), Failure);
}
