// Numbers of every type, wherever they lie.

#include "runtime/float_conversion.h"
#include "training/number_at.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace gradus::training;
using namespace gradus::runtime;

/// The second of two numbers that lie behind an odd byte.
template <typename T> static double second(DType dtype, T number) {
  char bytes[1 + 2 * sizeof(T)] = {};
  std::memcpy(bytes + 1 + sizeof(T), &number, sizeof(T));
  return numberAt(dtype, bytes + 1, 1);
}

TEST(NumberAt, ReadsEveryType) {
  EXPECT_EQ(second(DType::f32, 0.5f), 0.5);
  EXPECT_EQ(second(DType::f64, -0.25), -0.25);
  EXPECT_EQ(second(DType::f16, _Float16(2.5)), 2.5);
  EXPECT_EQ(second(DType::bf16, Bf16(-3.0)), -3);
  EXPECT_EQ(second(DType::i32, int32_t(-7)), -7);
  EXPECT_EQ(second(DType::i64, int64_t(1) << 40), 0x1p40);
  EXPECT_EQ(second(DType::i8, int8_t(-1)), -1);
  EXPECT_EQ(second(DType::u8, uint8_t(255)), 255);
  EXPECT_EQ(second(DType::i16, int16_t(-300)), -300);
  EXPECT_EQ(second(DType::u16, uint16_t(65535)), 65535);
  EXPECT_EQ(second(DType::u32, uint32_t(1) << 31), 0x1p31);
  EXPECT_EQ(second(DType::u64, uint64_t(1) << 63), 0x1p63);
  EXPECT_EQ(second(DType::boolean, uint8_t(1)), 1);
  EXPECT_TRUE(std::isnan(second(DType::f16, _Float16(NAN))));
}
