// Positions as arithmetic: of constants it folds, so that values can be seen.

#include "codegen/gpu/builder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

#include <gtest/gtest.h>

using namespace gradus;

namespace {

struct GpuBuilderTest : ::testing::Test {
  GpuBuilderTest() : b(mlir::UnknownLoc::get(&context), &context) {
    context.loadDialect<mlir::arith::ArithDialect, mlir::scf::SCFDialect>();
    module = mlir::ModuleOp::create(b.getLoc());
    b.setInsertionPointToEnd(module->getBody());
  }
  int64_t valueOf(mlir::Value value) {
    llvm::APInt number;
    EXPECT_TRUE(mlir::matchPattern(value, mlir::m_ConstantInt(&number)));
    return number.getSExtValue();
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  GpuBuilder b;
};

} // namespace

TEST_F(GpuBuilderTest, RoundsDownBelowZero) {
  mlir::AffineExpr d = mlir::getAffineDimExpr(0, &context);
  for (int64_t x : {-9, -8, -7, -1, 0, 1, 7, 8, 9})
    for (int64_t by : {3, 4}) {
      mlir::Value at = b.number(x);
      EXPECT_EQ(valueOf(b.evaluate(d.floorDiv(by), at)),
                llvm::divideFloorSigned(x, by));
      EXPECT_EQ(valueOf(b.evaluate(d.ceilDiv(by), at)),
                llvm::divideCeilSigned(x, by));
      EXPECT_EQ(valueOf(b.evaluate(d % by, at)), llvm::mod(x, by));
    }
}

TEST_F(GpuBuilderTest, ChoosesLimits) {
  mlir::AffineExpr d = mlir::getAffineDimExpr(0, &context);
  auto map = mlir::AffineMap::get(1, 0, {d * 3 - 2, d + 4}, &context);
  EXPECT_EQ(valueOf(b.limit(map, /*largest=*/true, b.number(5))), 13);
  EXPECT_EQ(valueOf(b.limit(map, /*largest=*/false, b.number(5))), 9);
}

/// The last dimension runs fastest; those of extent 1 stand still.
TEST_F(GpuBuilderTest, FindsPositionsOfPoints) {
  auto positions = b.positionsOf(b.number(17), {1, 3, 1, 6});
  std::vector<int64_t> found;
  for (mlir::Value position : positions)
    found.push_back(valueOf(position));
  EXPECT_EQ(found, (std::vector<int64_t>{0, 2, 0, 5}));
}

TEST_F(GpuBuilderTest, AsksAllConditions) {
  mlir::AffineExpr d = mlir::getAffineDimExpr(0, &context);
  std::vector<Condition> within = {{flatten(d - 2, 1), false},
                                   {flatten(d % 3, 1), true}};
  EXPECT_EQ(b.holds({}, b.number(3)), mlir::Value());
  for (int64_t x : {0, 2, 3, 4, 6})
    EXPECT_EQ(valueOf(b.holds(within, b.number(x))) != 0, x == 3 || x == 6);
}
