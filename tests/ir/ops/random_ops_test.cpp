// Random bits are those of the paper, and differ with all that they depend on.

#include "tests/ir/graphs.h"

#include <numeric>

using namespace gradus;
using namespace gradus::testing;

static std::vector<int64_t> bits(const std::string &type, int64_t step,
                                 const std::string &from) {
  return evaluate("%step: tensor<i64>",
                  "%b = gradus.random_bits %step " + from + " : " + type,
                  {integers({}, {step})})[0]
      .integers;
}

// The first known answer of Random123: all zeros.
TEST(RandomBits, AreThoseOfPhilox) {
  EXPECT_EQ(bits("tensor<i64>", 0, "stream 0 seed 0"),
            (std::vector<int64_t>{0x6627e8d5}));
}

TEST(RandomBits, DependOnSeedStreamStepAndPlace) {
  auto some = bits("tensor<2x3xi64>", 5, "stream 1 seed 2");
  EXPECT_EQ(some, bits("tensor<6xi64>", 5, "stream 1 seed 2"));
  EXPECT_NE(some, bits("tensor<2x3xi64>", 6, "stream 1 seed 2"));
  EXPECT_NE(some, bits("tensor<2x3xi64>", 5, "stream 0 seed 2"));
  EXPECT_NE(some, bits("tensor<2x3xi64>", 5, "stream 1 seed 4294967298"));
  EXPECT_NE(some[0], some[1]);
}

TEST(RandomBits, AreEvenlySpread) {
  auto many = bits("tensor<40000xi64>", 1, "stream 0 seed 0");
  double sum = std::accumulate(many.begin(), many.end(), 0.0);
  EXPECT_NEAR(sum / many.size() * 0x1p-32, 0.5, 0.006); // four deviations
  EXPECT_GE(*std::min_element(many.begin(), many.end()), 0);
  EXPECT_LT(*std::max_element(many.begin(), many.end()), int64_t(1) << 32);
}

TEST(Dropout, KeepsEverythingOutsideTraining) {
  EXPECT_EQ(evaluate("%x: tensor<2xf64>",
                     "%y = gradus.dropout %x ratio 0.5 : tensor<2xf64>",
                     {floats({2}, {1, 2})})[0]
                .floats,
            (std::vector<double>{1, 2}));
}
