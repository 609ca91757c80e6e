// How far tensors are apart.

#include "tool/compare/deviation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

using namespace gradus::cli;
using gradus::runtime::DType;

namespace {

template <typename T>
Deviation of(DType dtype, std::vector<T> one, std::vector<T> other) {
  auto bytes = [](const std::vector<T> &from) {
    return std::span(reinterpret_cast<const uint8_t *>(from.data()),
                     from.size() * sizeof(T));
  };
  return deviationOf(dtype, bytes(one), bytes(other));
}

} // namespace

TEST(Deviation, IsInPartsOfTheLargestElement) {
  Deviation d = of<float>(DType::f32, {1, -8, 0}, {1, -8, 2});
  EXPECT_EQ(d.relative, 0.25);
  EXPECT_TRUE(d.isWithin(0.25));
  EXPECT_FALSE(d.isWithin(0.24));
  EXPECT_EQ(of<float>(DType::f32, {1, 2}, {1, 2}).relative, 0);
}

TEST(Deviation, OfZerosIsInfinite) {
  EXPECT_EQ(of<float>(DType::f32, {0, 0}, {0, 1e-30f}).relative, INFINITY);
  EXPECT_EQ(of<float>(DType::f32, {0, 0}, {0, -0.0f}).relative, 0);
}

TEST(Deviation, CountsWhatIsNotFiniteOnEitherSide) {
  Deviation d = of<float>(DType::f32, {NAN, 1, INFINITY}, {NAN, NAN, 1});
  EXPECT_EQ(d.nonfinite, 3u);
  EXPECT_FALSE(d.isWithin(INFINITY));
  EXPECT_TRUE(of<float>(DType::f32, {1}, {9}).isLess(d));
  EXPECT_FALSE(d.isLess(of<float>(DType::f32, {1}, {9})));
}

TEST(Deviation, ReadsOtherTypes) {
  EXPECT_EQ(of<int64_t>(DType::i64, {4, 4}, {4, 5}).relative, 0.25);
  EXPECT_EQ(of<uint16_t>(DType::bf16, {0x3F80}, {0x4000}).relative, 1);
}
