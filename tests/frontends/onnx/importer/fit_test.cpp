// Constants lose what their element type cannot hold.

#include "frontends/onnx/importer/fit.h"

#include "mlir/IR/Builders.h"

#include <gtest/gtest.h>

using namespace gradus::onnx;

TEST(Fit, KeepsWhatTheTypeHolds) {
  mlir::MLIRContext context;
  mlir::Builder builder(&context);
  auto fitted = [](mlir::Type element, double number) {
    Constant one = zeros(element, {1});
    if (one.tensor.isFloat)
      one.tensor.floats[0] = number;
    else
      one.tensor.integers[0] = int64_t(number);
    fitToElement(one);
    return one.tensor.isFloat ? one.tensor.floats[0]
                              : double(one.tensor.integers[0]);
  };
  EXPECT_EQ(fitted(builder.getF64Type(), 0.1), 0.1);
  EXPECT_EQ(fitted(builder.getF32Type(), 0.1), double(0.1f));
  EXPECT_EQ(fitted(builder.getF16Type(), 2049), 2048);
  EXPECT_EQ(fitted(builder.getBF16Type(), 257), 256);
  EXPECT_EQ(fitted(builder.getI32Type(), 3758096384), -536870912);
  EXPECT_EQ(fitted(builder.getI8Type(), 200), -56);
  EXPECT_EQ(fitted(builder.getI1Type(), 1), 1);
}
