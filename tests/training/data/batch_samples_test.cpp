// Which samples are in which batch.

#include "tests/training/data/files.h"
#include "training/data/batch_samples.h"

using namespace gradus::data;
using namespace gradus::runtime;
using testing::ElementsAre;

namespace {

/// Five samples x = 0..4 and their labels 5..9, in batches of two.
struct Numbers {
  Folder folder;
  Dataset dataset = *Dataset::open(
      {"x=" + folder.write("x.npy", numbersFile({0, 1, 2, 3, 4})),
       "label=" + folder.write("y.npy", numbersFile({5, 6, 7, 8, 9}))});
  LabelRules rules = {{"label", {0, -1, {}}}};
  Feed feed = *Feed::match(
      dataset, {{"x", {DType::i64, {2}}, 16}, {"label", {DType::i64, {2}}, 16}},
      rules);
};

/// The samples of a batch, and their labels.
std::vector<int64_t> filled(const BatchSamples &samples, int64_t batch) {
  std::vector<int64_t> values(4, -9);
  void *inputs[] = {&values[0], &values[2]};
  for (int64_t place = 0; place < 2; ++place)
    EXPECT_TRUE(samples.copy(batch, place, inputs).ok());
  samples.finish(batch, inputs);
  return values;
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
