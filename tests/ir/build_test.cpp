// Values built by hand have the types that follow, and constants fold.

#include "graphs.h"

#include "ir/build.h"

using namespace mlir;
using namespace gradus;
using namespace gradus::testing;

namespace {

/// An empty graph with one input %x, and a builder in it.
class Build : public ::testing::Test {
protected:
  void begin(const char *type) {
    module = parseGraph(std::string("%x: ") + type, "");
    x = graphOf(*module).getBody().getArgument(0);
    builder.setInsertionPoint(
        graphOf(*module).getBody().front().getTerminator());
  }
  bool isType(Value value, const char *type) {
    return value.getType() == parseType(type);
  }
  Type parseType(const char *type) { return mlir::parseType(type, &context()); }

  OwningOpRef<ModuleOp> module;
  OpBuilder builder{&context()};
  Location loc = UnknownLoc::get(&context());
  Value x;
};

} // namespace

TEST_F(Build, ShapesFollowFromTheOperands) {
  begin("tensor<2x3x4xf32>");
  EXPECT_TRUE(
      isType(transpose(builder, loc, x, {2, 0, 1}), "tensor<4x2x3xf32>"));
  EXPECT_TRUE(isType(reshape(builder, loc, x, {6, 4}), "tensor<6x4xf32>"));
  EXPECT_TRUE(isType(sum(builder, loc, x, {0, 2}), "tensor<3xf32>"));
  EXPECT_TRUE(isType(mean(builder, loc, x, allAxes(3)), "tensor<f32>"));
  EXPECT_TRUE(isType(matmul(builder, loc, x, x, true), "tensor<2x4x4xf32>"));
  EXPECT_TRUE(
      isType(matmul(builder, loc, x, x, false, true), "tensor<2x3x3xf32>"));
  EXPECT_TRUE(succeeded(verify(*module)));
}

TEST_F(Build, ProductsTakeTransposedOperands) {
  begin("tensor<2x3x4xf32>");
  auto product = matmul(builder, loc, transpose(builder, loc, x, {0, 2, 1}), x)
                     .getDefiningOp<MatmulOp>();
  EXPECT_EQ(product.getA(), x);
  EXPECT_TRUE(product.getTransposeA());
  // Only the last two dimensions are the product's matter.
  Value turned = transpose(builder, loc, x, {2, 1, 0});
  EXPECT_EQ(matmul(builder, loc, turned, turned, true)
                .getDefiningOp<MatmulOp>()
                .getA(),
            turned);
}

TEST_F(Build, BroadcastsUndoReductions) {
  begin("tensor<2x3x4xf32>");
  Value total = sum(builder, loc, x, {1});
  EXPECT_TRUE(isType(broadcastAlong(builder, loc, total, {2, 3, 4}, {1}),
                     "tensor<2x3x4xf32>"));
  Value last = sum(builder, loc, x, {0, 1});
  EXPECT_TRUE(
      isType(broadcastLast(builder, loc, last, {5, 4}), "tensor<5x4xf32>"));
  EXPECT_TRUE(succeeded(verify(*module)));
}

TEST_F(Build, WhatChangesNothingIsNotBuilt) {
  begin("tensor<2x3xf32>");
  EXPECT_EQ(reshape(builder, loc, x, {2, 3}), x);
  EXPECT_EQ(transpose(builder, loc, x, {0, 1}), x);
  EXPECT_EQ(sum(builder, loc, x, {}), x);
  EXPECT_EQ(convert(builder, loc, x, builder.getF32Type()), x);
}

TEST_F(Build, ConstantsFoldOnTheWay) {
  begin("tensor<2x3xf32>");
  Value one =
      splat(builder, loc, RankedTensorType::get({}, builder.getF32Type()), 1);
  Value ones = broadcastScalar(builder, loc, one, {2, 3});
  EXPECT_TRUE(ones.getDefiningOp<arith::ConstantOp>());
  EXPECT_TRUE(isType(ones, "tensor<2x3xf32>"));
}

TEST_F(Build, ConvertsBetweenTheHalfFormatsByF32) {
  begin("tensor<2xf16>");
  Value converted = convert(builder, loc, x, builder.getBF16Type());
  EXPECT_TRUE(isType(converted, "tensor<2xbf16>"));
  auto narrowing = converted.getDefiningOp<arith::TruncFOp>();
  ASSERT_TRUE(narrowing);
  EXPECT_TRUE(isType(narrowing.getIn(), "tensor<2xf32>"));
  EXPECT_TRUE(succeeded(verify(*module)));
}

TEST_F(Build, TakesBooleansAsZeroAndOne) {
  begin("tensor<2xi1>");
  Value converted = convert(builder, loc, x, builder.getF32Type());
  EXPECT_TRUE(converted.getDefiningOp<arith::UIToFPOp>());
}

TEST(Axes, AreTheOthers) {
  EXPECT_EQ(axesExcept(4, {1, 3}), (SmallVector<int64_t>{0, 2}));
  EXPECT_EQ(allAxes(2), (SmallVector<int64_t>{0, 1}));
}
