// Which samples are in which batch.

#include "tests/training/data/files.h"
#include "training/data/batch_samples.h"

using namespace gradus::data;
using namespace gradus::runtime;
using testing::ElementsAre;

namespace {

/// Five samples x = 0..4 and their labels 5..9.
struct Numbers {
  explicit Numbers(int64_t batch = 2) : batch(batch) {}

  int64_t batch;
  size_t bytes = 8 * static_cast<size_t>(batch);
  Folder folder;
  Dataset dataset = *Dataset::open(
      {"x=" + folder.write("x.npy", numbersFile({0, 1, 2, 3, 4})),
       "label=" + folder.write("y.npy", numbersFile({5, 6, 7, 8, 9}))});
  LabelRules rules = {{"label", {0, -1, {}}}};
  Feed feed = *Feed::match(dataset,
                           {{"x", {DType::i64, {batch}}, bytes},
                            {"label", {DType::i64, {batch}}, bytes}},
                           rules);
};

/// The samples of a batch, and their labels.
std::vector<int64_t> filled(const BatchSamples &samples, int64_t batch) {
  int64_t size = samples.feed().batch();
  std::vector<int64_t> values(2 * size, -9);
  void *inputs[] = {&values[0], &values[size]};
  for (int64_t place = 0; place < size; ++place)
    EXPECT_TRUE(samples.copy(batch, place, inputs).ok());
  samples.finish(batch, inputs);
  return values;
}

/// The samples of a batch of all ranks, rank by rank, then their labels.
std::vector<int64_t> dealt(const Numbers &numbers, bool shuffle, int64_t ranks,
                           int64_t batch) {
  std::vector<int64_t> values, labels;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto own =
        filled({numbers.feed, shuffle, /*seed=*/1, {rank, ranks}}, batch);
    auto middle = own.begin() + numbers.feed.batch();
    values.insert(values.end(), own.begin(), middle);
    labels.insert(labels.end(), middle, own.end());
  }
  values.insert(values.end(), labels.begin(), labels.end());
  return values;
}

/// Expects that batches of two on each of `ranks` are, rank by rank, those of
/// one process that are so much larger, over two epochs.
void expectOneProcess(int64_t ranks, bool shuffle, bool masks) {
  Numbers small(2), large(2 * ranks);
  if (masks) {
    ASSERT_TRUE(small.feed.maskLastBatch().ok());
    ASSERT_TRUE(large.feed.maskLastBatch().ok());
  }
  BatchSamples one(large.feed, shuffle, /*seed=*/1);
  EXPECT_EQ(BatchSamples::perEpoch(small.feed, shuffle, {0, ranks}),
            one.perEpoch());
  for (int64_t batch = 0; batch < 2 * one.perEpoch(); ++batch)
    EXPECT_EQ(dealt(small, shuffle, ranks, batch), filled(one, batch))
        << "batch " << batch << " on " << ranks << " ranks";
}

} // namespace

TEST(BatchSamples, AreAllInOrderWithZerosInTheLast) {
  Numbers numbers;
  BatchSamples samples(numbers.feed, /*shuffle=*/false, /*seed=*/1);
  EXPECT_EQ(samples.perEpoch(), 3);
  EXPECT_EQ(samples.real(1), 2);
  EXPECT_EQ(samples.real(2), 1);
  EXPECT_THAT(filled(samples, 1), ElementsAre(2, 3, 7, 8));
  EXPECT_THAT(filled(samples, 2), ElementsAre(4, 0, 9, 0));
  EXPECT_THAT(filled(samples, 3), ElementsAre(0, 1, 5, 6)) << "the next epoch";
}

TEST(BatchSamples, LeaveOutWhatFillsNoBatchInTraining) {
  Numbers numbers;
  BatchSamples samples(numbers.feed, /*shuffle=*/true, /*seed=*/1);
  EXPECT_EQ(samples.perEpoch(), 2);
  auto one = filled(samples, 0), other = filled(samples, 1);
  EXPECT_NE(one[0], other[0]);
  EXPECT_EQ(one[2], one[0] + 5) << "a label stays with its sample";
}

TEST(BatchSamples, IgnoreTheLabelsOfSamplesThatFillABatchUp) {
  Numbers numbers;
  ASSERT_TRUE(numbers.feed.maskLastBatch().ok());
  BatchSamples samples(numbers.feed, /*shuffle=*/true, /*seed=*/1);
  EXPECT_EQ(samples.perEpoch(), 3);
  auto last = filled(samples, 2);
  EXPECT_EQ(last[2], last[0] + 5);
  EXPECT_EQ(last[3], -1);
}

TEST(BatchSamples, OfRanksAreThoseOfOneProcess) {
  for (int64_t ranks : {1, 2, 3, 4})
    for (bool shuffle : {false, true})
      expectOneProcess(ranks, shuffle, /*masks=*/false);
}

TEST(BatchSamples, OfRanksFillTheLastBatchUpAsOneProcessDoes) {
  for (int64_t ranks : {1, 2, 3, 4})
    expectOneProcess(ranks, /*shuffle=*/true, /*masks=*/true);
}

TEST(BatchSamples, OfALaterRankMayAllFillUp) {
  Numbers numbers;
  ASSERT_TRUE(numbers.feed.maskLastBatch().ok());
  BatchSamples last(numbers.feed, /*shuffle=*/true, /*seed=*/1, {3, 4});
  EXPECT_EQ(last.perEpoch(), 1);
  EXPECT_EQ(last.real(0), 0);
  EXPECT_EQ(filled(last, 0)[2], -1);
}
