// Batches of a caller's iterator; those of feeds are tested with their data.

#include "tests/training/data/files.h"
#include "training/batch_source.h"

using namespace gradus::training;
using namespace gradus::runtime;

namespace {

const int kFirst = 1, kSecond = 2;

/// Batches of two inputs, `count` of them.
CallerBatches twoInputs(int64_t count, std::vector<int64_t> *asked = nullptr) {
  return {
      4, 2,
      [=](int64_t number, std::vector<const void *> &inputs) -> StatusOr<bool> {
        if (asked)
          asked->push_back(number);
        inputs = {&kFirst, &kSecond};
        return number < count;
      }};
}

} // namespace

TEST(CallerBatches, BeginWhereARunGoesOn) {
  std::vector<int64_t> asked;
  CallerBatches batches = twoInputs(100, &asked);
  ASSERT_TRUE(batches.begin(7, 9).ok());
  for (int64_t number : {7, 8}) {
    const gradus::data::Chunk *chunk = *batches.next();
    ASSERT_TRUE(chunk);
    EXPECT_EQ(chunk->first, number);
    EXPECT_EQ(chunk->count, 1);
    EXPECT_THAT(chunk->inputs, testing::ElementsAre(&kFirst, &kSecond));
  }
  EXPECT_EQ(*batches.next(), nullptr);
  EXPECT_THAT(asked, testing::ElementsAre(7, 8)) << "none is made in vain";
}

TEST(CallerBatches, EndWhereTheCallerHasNoMore) {
  CallerBatches batches = twoInputs(1);
  ASSERT_TRUE(batches.begin(0, 3).ok());
  EXPECT_NE(*batches.next(), nullptr);
  EXPECT_EQ(*batches.next(), nullptr);
}

TEST(CallerBatches, AreRefusedWhereAnInputIsMissing) {
  CallerBatches batches(
      1, 2, [](int64_t, std::vector<const void *> &inputs) -> StatusOr<bool> {
        inputs[0] = &kFirst;
        return true;
      });
  ASSERT_TRUE(batches.begin(3, 4).ok());
  EXPECT_EQ(batches.next().status().message(),
            "batch 3: has 1 inputs, expected 2");
}

TEST(CallerBatches, PassOnWhatFails) {
  CallerBatches batches(
      1, 1, [](int64_t, std::vector<const void *> &) -> StatusOr<bool> {
        return failed("the loader has died");
      });
  ASSERT_TRUE(batches.begin(0, 1).ok());
  EXPECT_EQ(batches.next().status().message(), "the loader has died");
}

TEST(FeedBatches, SayWhatIsWaitedFor) {
  gradus::data::Folder folder;
  auto set = *gradus::data::Dataset::open(
      {"x=" + folder.write("x.npy", gradus::data::numbersFile({1, 2, 3, 4}))});
  auto feed = *gradus::data::Feed::match(set, {{"x", {DType::i64, {2}}, 16}});
  std::vector<std::string> said;
  FeedBatches batches(feed, /*seed=*/1, /*threads=*/1, {},
                      [&](const char *what) { said.push_back(what); });
  ASSERT_TRUE(batches.begin(0, 2).ok());
  EXPECT_NE(*batches.next(), nullptr);
  EXPECT_THAT(said, testing::ElementsAre("waits for its data", "computes"));
}
