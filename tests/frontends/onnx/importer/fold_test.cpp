// Indexing into constants follows NumPy.

#include "frontends/onnx/importer/fold.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace gradus::onnx;
using llvm::SmallVector;

TEST(Fold, FindsTheCommonShape) {
  EXPECT_EQ(*commonShape({3, 1}, {4}), (SmallVector<int64_t>{3, 4}));
  EXPECT_EQ(*commonShape({}, {2, 2}), (SmallVector<int64_t>{2, 2}));
  EXPECT_EQ(*commonShape({0}, {1}), (SmallVector<int64_t>{0}));
  EXPECT_EQ(commonShape({3}, {4}).status().message(),
            "shapes [3] and [4] do not broadcast");
}

TEST(Fold, CountsAxesFromEitherEnd) {
  EXPECT_EQ(*normalAxis(-1, 3), 2);
  EXPECT_EQ(*normalAxes({-1, 0}, 3), (SmallVector<int64_t>{0, 2}));
  EXPECT_EQ(normalAxis(3, 3).status().message(),
            "axis 3 is out of range for rank 3");
  EXPECT_EQ(normalAxes({0, -2}, 2).status().message(),
            "axis -2 stands twice in [0, -2]");
}

TEST(Fold, RepeatsAlongNewAndUnitAxes) {
  mlir::MLIRContext context;
  Constant row = integers({1, 2}, context);
  EXPECT_EQ(expanded(row, {2, 2}).tensor.integers,
            (std::vector<int64_t>{1, 2, 1, 2}));
  row.tensor.shape = {2, 1};
  EXPECT_EQ(expanded(row, {2, 2}).tensor.integers,
            (std::vector<int64_t>{1, 1, 2, 2}));
}

TEST(Fold, VisitsNothingOfAnEmptyShape) {
  int visits = 0;
  forEachIndex({2, 0}, [&](auto) { ++visits; });
  EXPECT_EQ(visits, 0);
  forEachIndex({}, [&](auto) { ++visits; });
  EXPECT_EQ(visits, 1);
}
