#include "runtime/tensor_type.h"

#include <gtest/gtest.h>

using namespace gradus::runtime;

TEST(TensorType, HasASize) {
  EXPECT_EQ(bytesOf(TensorType{DType::f32, {2, 3}}), 24u);
  EXPECT_EQ(bytesOf(TensorType{DType::bf16, {}}), 2u);
  EXPECT_EQ(bytesOf(TensorType{DType::i64, {0, 7}}), 0u);
  EXPECT_EQ(bytesOf(TensorType{DType::boolean, {5}}), 5u);
}

TEST(TensorType, HasNoSizeWhereThereIsNone) {
  EXPECT_FALSE(bytesOf(TensorType{DType::f32, {-1}}));
  EXPECT_FALSE(
      bytesOf(TensorType{DType::f32, {int64_t{1} << 40, int64_t{1} << 40}}));
  EXPECT_FALSE(bytesOf(TensorType{DType::f64, {int64_t{1} << 60}}));
}

TEST(TensorType, IsWrittenAsInTheDialect) {
  EXPECT_EQ(toString(TensorType{DType::f32, {32, 10}}), "32x10xf32");
  EXPECT_EQ(toString(TensorType{DType::boolean, {}}), "bool");
  EXPECT_STREQ(nameOf(static_cast<DType>(99)), "unknown");
}
