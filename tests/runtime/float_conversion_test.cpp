// Numbers of one floating-point type as those of another.

#include "runtime/float_conversion.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gradus::runtime;

TEST(FloatConversion, RoundsToNearest) {
  const float from[] = {1.0f, 1.00390625f, -2.5f};
  uint16_t bf16[3] = {};
  EXPECT_TRUE(convertFloats("f32", "bf16", from, bf16, 3));
  EXPECT_EQ(bf16[0], 0x3f80);
  EXPECT_EQ(bf16[1], 0x3f80) << "a tie goes to even";
  float back[3] = {};
  EXPECT_TRUE(convertFloats("bf16", "f32", bf16, back, 3));
  EXPECT_EQ(back[2], -2.5f);
}

TEST(FloatConversion, WidensExactly) {
  const _Float16 half[] = {static_cast<_Float16>(0.333f)};
  double wide = 0;
  EXPECT_TRUE(convertFloats("f16", "f64", half, &wide, 1));
  EXPECT_EQ(wide, static_cast<double>(half[0]));
  const double nan = NAN;
  uint16_t bits = 0;
  EXPECT_TRUE(convertFloats("f64", "bf16", &nan, &bits, 1));
  EXPECT_EQ(bits & 0x7fc0, 0x7fc0);
}

TEST(FloatConversion, IsOfFloatsAlone) {
  EXPECT_TRUE(areFloats("f16", "f32"));
  EXPECT_FALSE(areFloats("i64", "f32"));
  EXPECT_FALSE(areFloats("f32", "bool"));
}
