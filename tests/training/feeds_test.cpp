// Data as the recipe of an artifact prepares them.

#include "tests/training/adding.h"
#include "tests/training/data/files.h"
#include "training/feeds.h"

#include <gmock/gmock.h>

using namespace gradus;
using namespace gradus::training;
using testing::HasSubstr;

namespace {

/// A feed of `x` for an adder with this recipe.
struct Prepared {
  Prepared(const char *recipe, int64_t count = 16) : adding(with(recipe)) {
    std::string path = folder.write(
        "x.npy", data::npyFile("<f4", std::to_string(count) + ",",
                               data::bytesOf(std::vector<float>(count, 3))));
    set = *data::Dataset::open({"x=" + path});
  }
  static test::TestArtifact with(const char *recipe) {
    test::TestArtifact made;
    made.header.recipe = recipe;
    return made;
  }
  runtime::StatusOr<data::Feed> feed(Use use = Use::training) const {
    return feedOf(*adding.session, 0, set, use);
  }

  test::Adding adding;
  data::Folder folder;
  data::Dataset set;
};

} // namespace

TEST(Feeds, NormalizeWhatTheRecipeSays) {
  Prepared prepared(
      R"({"inputs": {"normalize": {"x": {"mean": [1], "std": [2]}}}})");
  EXPECT_EQ(normalizationOf(*prepared.adding.session)["x"]["std"][0], 2);
  auto feed = prepared.feed();
  ASSERT_TRUE(feed.ok()) << feed.status();
  std::vector<float> batch(8);
  void *inputs[] = {batch.data()};
  ASSERT_TRUE(feed->copySample(0, 5, inputs).ok());
  EXPECT_EQ(batch[5], 1) << "(3 - 1) / 2";
}

TEST(Feeds, RefuseANameThatIsNoInput) {
  Prepared prepared(R"({"inputs": {"normalize": {"y": {"mean": [1]}}}})");
  EXPECT_THAT(prepared.feed().status().message(),
              HasSubstr("names 'y', but graph 'train' has the inputs x"));
}

TEST(Feeds, RefuseARecipeThatNoCompilerWrites) {
  Prepared prepared(R"({"inputs": {"normalize": {"x": {"mean": "one"}}}})");
  EXPECT_THAT(prepared.feed().status().message(),
              HasSubstr("what no compiler writes there"));
}

TEST(Feeds, KeepAPartForTests) {
  Prepared prepared("{}", 40);
  TrainingFeeds feeds{*prepared.feed(), *prepared.feed(Use::evaluation)};
  ASSERT_TRUE(feeds.split("x.npy", 0.25, /*seed=*/3).ok());
  EXPECT_EQ(feeds.test->samples(), 10);
  EXPECT_EQ(feeds.train.samples(), 30);
}

TEST(Feeds, KeepNoPartOfOneSample) {
  Prepared prepared("{}", 1);
  TrainingFeeds feeds{*prepared.feed(), *prepared.feed(Use::evaluation)};
  EXPECT_EQ(feeds.split("x.npy", 0.5, 3).message(),
            "x.npy: has 1 sample, and a part for tests needs 2 or more");
}
