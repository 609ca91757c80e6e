#include "runtime/collectives/adasum.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <gmock/gmock.h>
#include <limits>
#include <random>

using namespace gradus::runtime;
using testing::ElementsAre;

namespace {

Factors factorsOf(const std::vector<float> &a, const std::vector<float> &b) {
  ProductSum sum;
  sum.add(DType::f32, a.data(), b.data(), a.size());
  return adasumFactors(sum.total());
}

std::vector<float> adasum(const std::vector<float> &a,
                          const std::vector<float> &b) {
  std::vector<float> result(a.size());
  combineBy(factorsOf(a, b), DType::f32, a.data(), b.data(), result.data(),
            a.size());
  return result;
}

} // namespace

TEST(Adasum, IsASumOrAMeanOrBetween) {
  EXPECT_THAT(adasum({1, 0}, {0, 2}), ElementsAre(1, 2)) << "orthogonal";
  EXPECT_THAT(adasum({1, 2}, {1, 2}), ElementsAre(1, 2)) << "equal";
  EXPECT_THAT(adasum({1, 0}, {3, 0}), ElementsAre(2, 0)) << "parallel";
  EXPECT_THAT(adasum({1, 0}, {-1, 0}), ElementsAre(0, 0)) << "opposite";
  EXPECT_THAT(adasum({0, 0}, {1, 2}), ElementsAre(1, 2)) << "with zeros";
  EXPECT_THAT(adasum({1, 2, 3, 4}, {2, 0, -1, 1}),
              ElementsAre(2.45f, 1.9f, 2.1f, 4.55f));
  EXPECT_THAT(adasum({1, 2, 3, 4, 5}, {5, 4, 3, 2, 1}),
              testing::Each(testing::FloatEq(45.0f / 11)));
}

/// An epsilon in the dot product, as MindSpore has, would halve these.
TEST(Adasum, DoesNotDependOnTheSizeOfVectors) {
  for (float size : {1e-7f, 1e-20f, 1e-30f, 1e20f}) {
    EXPECT_THAT(adasum({size, 0}, {0, size}), ElementsAre(size, size));
    EXPECT_THAT(adasum({size, size}, {size, size}), ElementsAre(size, size));
  }
  Factors withEpsilon = adasumFactors({1e-12, 1e-14 + 1e-12, 1e-14 + 1e-12});
  EXPECT_NEAR(withEpsilon.a, 0.505, 1e-3);
}

TEST(Adasum, AddsUpInTheSameWayHoweverItIsCut) {
  std::minstd_rand random(7);
  std::vector<float> a(1003), b(1003);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(random()) * 1e-9f - 1;
    b[i] = static_cast<float>(random()) * 1e-7f - 100;
  }
  ProductSum whole;
  whole.add(DType::f32, a.data(), b.data(), a.size());
  for (size_t piece : {1, 5, 8, 13, 64, 1002}) {
    ProductSum cut;
    for (size_t at = 0; at < a.size(); at += piece)
      cut.add(DType::f32, &a[at], &b[at], std::min(piece, a.size() - at));
    EXPECT_EQ(cut.total().ab, whole.total().ab) << piece;
    EXPECT_EQ(cut.total().aa, whole.total().aa) << piece;
    EXPECT_EQ(cut.total().bb, whole.total().bb) << piece;
  }
  double ab = 0;
  for (size_t i = 0; i < a.size(); ++i)
    ab += double(a[i]) * b[i];
  EXPECT_NEAR(whole.total().ab / ab, 1, 1e-14);
}

TEST(Adasum, GivesTheSameNaNForWhateverIsNotFinite) {
  float infinite = std::numeric_limits<float>::infinity();
  for (float bad : {infinite, -infinite, -std::nanf("77")}) {
    std::vector<float> sum = adasum({1, bad}, {1, 2});
    for (float each : sum)
      EXPECT_EQ(std::bit_cast<uint32_t>(each), 0x7fc00000u) << bad;
  }
}

TEST(Adasum, WorksInDoublePrecision) {
  std::vector<double> a = {1, 2, 3, 4}, b = {2, 0, -1, 1}, result(4);
  ProductSum sum;
  sum.add(DType::f64, a.data(), b.data(), 4);
  combineBy(adasumFactors(sum.total()), DType::f64, a.data(), b.data(),
            result.data(), 4);
  std::vector<double> wanted = {2.45, 1.9, 2.1, 4.55};
  for (size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(result[i], wanted[i], 1e-15);
  divide(DType::f64, a.data(), 4, 2);
  EXPECT_THAT(a, ElementsAre(0.5, 1, 1.5, 2));
}
