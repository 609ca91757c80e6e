// Constants keep their values on the way to attributes and back.

#include "frontends/onnx/importer/constant.h"

#include "mlir/IR/Builders.h"

#include <gtest/gtest.h>

using namespace gradus::onnx;

TEST(Constant, ComesBackFromAnAttribute) {
  mlir::MLIRContext context;
  Constant numbers = integers({1, -2, 3}, context);
  EXPECT_EQ(fromAttribute(toAttribute(numbers)).tensor.integers,
            numbers.tensor.integers);
}

TEST(Constant, IsRoundedToItsElementType) {
  mlir::MLIRContext context;
  Constant tenth = zeros(mlir::Builder(&context).getF32Type(), {1});
  tenth.tensor.floats[0] = 0.1;
  EXPECT_EQ(fromAttribute(toAttribute(tenth)).tensor.floats[0], double(0.1f));
}

TEST(Constant, KeepsTruthAsOne) {
  mlir::MLIRContext context;
  Constant truth = zeros(mlir::Builder(&context).getI1Type(), {2});
  truth.tensor.integers[1] = 1;
  EXPECT_EQ(fromAttribute(toAttribute(truth)).tensor.integers,
            (std::vector<int64_t>{0, 1}));
}
