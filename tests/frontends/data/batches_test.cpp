// Batches: every sample of an epoch, in order or shuffled, and where to resume.

#include "frontends/data/batches.h"
#include "tests/frontends/data/files.h"

#include <set>

using namespace gradus::data;
using namespace gradus::runtime;
using testing::ElementsAre;

namespace {

/// Samples 0..9 as i64, in batches of four.
struct Numbers {
  Folder folder;
  Dataset dataset = *Dataset::open(
      {"x=" + folder.write("x.npy", npyFile("<i8", "10,",
                                            bytesOf<int64_t>({0, 1, 2, 3, 4, 5,
                                                              6, 7, 8, 9})))});
  Feed feed = *Feed::match(
      dataset, {{"x", {DType::i64, {4}}, 32}, {"count", {DType::i64, {}}, 8}});
};

struct Batch {
  std::vector<int64_t> x;
  int64_t count;
};

std::vector<Batch> all(const Feed &feed, BatchOptions options) {
  Batches batches(feed, options);
  std::vector<Batch> result;
  while (const Chunk *chunk = batches.next())
    for (int64_t i = 0; i < chunk->count; ++i) {
      auto *x = static_cast<const int64_t *>(chunk->inputs[2 * i]);
      result.push_back(
          {{x, x + 4},
           *static_cast<const int64_t *>(chunk->inputs[2 * i + 1])});
    }
  return result;
}

} // namespace

TEST(Batches, PadTheLastBatchOfAnEvaluation) {
  Numbers numbers;
  EXPECT_EQ(Batches::perEpoch(numbers.feed, false), 3);
  auto batches = all(numbers.feed, {.end = 3});
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_THAT(batches[1].x, ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(batches[1].count, 4);
  EXPECT_THAT(batches[2].x, ElementsAre(8, 9, 0, 0));
  EXPECT_EQ(batches[2].count, 2);
}

TEST(Batches, LeaveOutWhatDoesNotFillABatchInTraining) {
  Numbers numbers;
  EXPECT_EQ(Batches::perEpoch(numbers.feed, true), 2);
  auto batches = all(numbers.feed, {.shuffle = true, .end = 2});
  ASSERT_EQ(batches.size(), 2u);
  std::set<int64_t> seen(batches[0].x.begin(), batches[0].x.end());
  seen.insert(batches[1].x.begin(), batches[1].x.end());
  EXPECT_EQ(seen.size(), 8u);
}

TEST(Batches, ContinueWhereARunWasInterrupted) {
  Numbers numbers;
  auto whole = all(numbers.feed, {.shuffle = true, .seed = 5, .end = 7});
  auto rest =
      all(numbers.feed, {.shuffle = true, .seed = 5, .first = 3, .end = 7});
  ASSERT_EQ(whole.size(), 7u);
  ASSERT_EQ(rest.size(), 4u);
  for (size_t i = 0; i < rest.size(); ++i)
    EXPECT_EQ(rest[i].x, whole[i + 3].x) << i;
}

TEST(Batches, OfManyChunksAreTheSame) {
  Numbers numbers;
  auto one = all(numbers.feed, {.shuffle = true, .end = 101, .chunkBytes = 1});
  auto many = all(numbers.feed, {.shuffle = true, .end = 101});
  ASSERT_EQ(one.size(), 101u);
  for (size_t i = 0; i < one.size(); ++i)
    EXPECT_EQ(one[i].x, many[i].x) << i;
}

TEST(Batches, CanBeLeftBeforeTheirEnd) {
  Numbers numbers;
  Batches batches(numbers.feed, {.end = 1000000});
  EXPECT_NE(batches.next(), nullptr);
}
