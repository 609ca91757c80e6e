// Orders of samples: permutations, that depend on seed and epoch alone.

#include "training/data/shuffle.h"

#include <gmock/gmock.h>

#include <cmath>

using gradus::data::Shuffle;

static std::vector<int64_t> order(uint64_t seed, int64_t epoch, int64_t count) {
  Shuffle shuffle(seed, epoch, count);
  std::vector<int64_t> samples(count);
  for (int64_t i = 0; i < count; ++i)
    samples[i] = shuffle(i);
  return samples;
}

TEST(Shuffle, TakesEverySampleOnce) {
  for (int64_t count : {1, 2, 3, 4, 5, 17, 64, 1000, 1437}) {
    std::vector<int64_t> samples = order(1, 2, count), all(count);
    for (int64_t i = 0; i < count; ++i)
      all[i] = i;
    EXPECT_THAT(samples, testing::UnorderedElementsAreArray(all)) << count;
  }
}

TEST(Shuffle, IsTheSameForTheSameSeedAndEpoch) {
  EXPECT_EQ(order(3, 4, 100), order(3, 4, 100));
}

TEST(Shuffle, DiffersBetweenEpochsAndSeeds) {
  EXPECT_NE(order(3, 4, 100), order(3, 5, 100));
  EXPECT_NE(order(3, 4, 100), order(4, 4, 100));
}

// Each sample comes at each place about equally often: chi-square of 10 x 10
// cells over 20,000 epochs, 81 degrees of freedom, below its 1e-6 quantile.
TEST(Shuffle, PutsEverySampleAnywhere) {
  constexpr int kEpochs = 20000, kCount = 10;
  double counts[kCount][kCount] = {};
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    Shuffle shuffle(0, epoch, kCount);
    for (int place = 0; place < kCount; ++place)
      ++counts[place][shuffle(place)];
  }
  double expected = double(kEpochs) / kCount, chiSquare = 0;
  for (auto &row : counts)
    for (double count : row)
      chiSquare += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chiSquare, 155);
}
