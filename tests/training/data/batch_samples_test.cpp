// Which samples are in which batch.

#include "tests/training/data/files.h"
#include "training/data/batch_samples.h"

#include <numeric>

using namespace gradus::data;
using namespace gradus::runtime;
using testing::ElementsAre;

namespace {

std::vector<int64_t> from(int64_t first, int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

/// Some samples x = 0, 1, ... and their labels 5, 6, ...
struct Numbers {
  explicit Numbers(int64_t batch = 2, int64_t samples = 5)
      : batch(batch), samples(samples) {}

  int64_t batch, samples;
  size_t bytes = 8 * static_cast<size_t>(batch);
  Folder folder;
  Dataset dataset = *Dataset::open(
      {"x=" + folder.write("x.npy", numbersFile(from(0, samples))),
       "label=" + folder.write("y.npy", numbersFile(from(5, samples)))});
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

/// The samples of a batch of all logical ranks in their order, where
/// `processes` share them, then the labels.
std::vector<int64_t> dealtInTurns(const Numbers &numbers, bool shuffle,
                                  int64_t logicalRanks, int64_t processes,
                                  int64_t batch) {
  std::vector<int64_t> values, labels;
  int64_t turns = logicalRanks / processes;
  for (int64_t process = 0; process < processes; ++process) {
    BatchSamples samples(numbers.feed, shuffle, /*seed=*/1,
                         {process * turns, logicalRanks, turns});
    for (int64_t turn = 0; turn < turns; ++turn) {
      auto own = filled(samples, batch * turns + turn);
      auto middle = own.begin() + numbers.feed.batch();
      values.insert(values.end(), own.begin(), middle);
      labels.insert(labels.end(), middle, own.end());
    }
  }
  values.insert(values.end(), labels.begin(), labels.end());
  return values;
}

/// Expects that eight logical ranks have the same samples, over two epochs,
/// however many processes share them.
void expectAnyProcesses(int64_t samples, bool shuffle, bool masks) {
  Numbers numbers(2, samples);
  if (masks)
    ASSERT_TRUE(numbers.feed.maskLastBatch().ok());
  int64_t perEpoch = BatchSamples::perEpoch(numbers.feed, shuffle, {0, 8});
  ASSERT_GT(perEpoch, 0);
  for (int64_t batch = 0; batch < 2 * perEpoch; ++batch) {
    auto own = dealt(numbers, shuffle, 8, batch);
    for (int64_t processes : {1, 2, 4, 8})
      EXPECT_EQ(dealtInTurns(numbers, shuffle, 8, processes, batch), own)
          << "batch " << batch << " on " << processes << " processes";
  }
}

} // namespace

TEST(BatchSamples, InOrderFillTheLastBatchWithIgnoredLabels) {
  Numbers numbers;
  BatchSamples padded(numbers.feed, /*shuffle=*/false, /*seed=*/1);
  EXPECT_THAT(filled(padded, 2), ElementsAre(4, 0, 9, 0));
  ASSERT_TRUE(numbers.feed.maskLastBatch().ok());
  BatchSamples masked(numbers.feed, /*shuffle=*/false, /*seed=*/1);
  EXPECT_EQ(masked.perEpoch(), 3);
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    EXPECT_THAT(filled(masked, 3 * epoch + 1), ElementsAre(2, 3, 7, 8));
    EXPECT_THAT(filled(masked, 3 * epoch + 2), ElementsAre(4, 0, 9, -1));
  }
}

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

TEST(BatchSamples, OfLogicalRanksAreTheSameOnAnyNumberOfProcesses) {
  for (int64_t samples : {16, 39, 50}) // whole epochs, and those cut short
    expectAnyProcesses(samples, /*shuffle=*/true, /*masks=*/false);
  for (int64_t samples : {5, 39}) {
    expectAnyProcesses(samples, /*shuffle=*/true, /*masks=*/true);
    expectAnyProcesses(samples, /*shuffle=*/false, /*masks=*/false);
  }
}
