// The algebra of maps that fusion rests on.

#include "codegen/nests/fuse_maps.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace gradus;
using namespace mlir;

namespace {

struct FuseMaps : ::testing::Test {
  MLIRContext context;
  AffineExpr d0 = getAffineDimExpr(0, &context),
             d1 = getAffineDimExpr(1, &context),
             d2 = getAffineDimExpr(2, &context),
             zero = getAffineConstantExpr(0, &context);

  AffineMap map(unsigned dims, ArrayRef<AffineExpr> results) {
    return AffineMap::get(dims, 0, results, &context);
  }
};

TEST_F(FuseMaps, GoFromAnElementBackToItsPoint) {
  // A nest writes (d1, 0, d0); who reads element (d0 + 1, 0, d1 * 2)?
  auto point =
      pointAt(map(2, {d1, zero, d0}), {4, 5}, map(2, {d0 + 1, zero, d1 * 2}));
  ASSERT_TRUE(point);
  EXPECT_EQ(point->position[0], d1 * 2);
  EXPECT_EQ(point->position[1], d0 + 1);
}

TEST_F(FuseMaps, FindNoPointWhereDimensionsMix) {
  EXPECT_FALSE(pointAt(map(2, {d0 * 2 + d1}), {4, 2}, map(1, {d0})));
  EXPECT_FALSE(pointAt(map(2, {d0}), {4, 2}, map(1, {d0})));
}

TEST_F(FuseMaps, ReadAReshapeLinearly) {
  auto read = throughReshape(map(3, {d0, d1, d2}), {2, 12}, {2, 3, 4});
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, map(3, {d0, d1 * 4 + d2}));
  auto unit = throughReshape(map(1, {d0, zero}), {5}, {5, 1});
  ASSERT_TRUE(unit);
  EXPECT_EQ(*unit, map(1, {d0}));
}

TEST_F(FuseMaps, RefuseAReshapeThatNeedsDivision) {
  EXPECT_FALSE(throughReshape(map(2, {d0, d1}), {2, 3, 4}, {2, 12}));
}

TEST_F(FuseMaps, NumberElementsInRowMajorOrder) {
  EXPECT_EQ(linearised(map(2, {d1, d0}), {3, 4}),
            simplifyAffineMap(map(2, {d1 * 4 + d0})));
  EXPECT_EQ(linearised(map(2, {}), {}), map(2, {zero}));
}

} // namespace
