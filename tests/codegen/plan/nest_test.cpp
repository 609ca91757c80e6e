// What nests are built of: reads that merge, splats that become scalars, index
// arithmetic that agrees with the affine expressions it comes from.

#include "tests/codegen/plan/plan_check.h"

#include "mlir/IR/AffineExpr.h"

using namespace gradus;
using namespace mlir;

namespace {

struct Nests : ::testing::Test {
  std::unique_ptr<MLIRContext> context = gradus::testing::makeContext();
  Location location = UnknownLoc::get(context.get());
  OwningOpRef<ModuleOp> module = ModuleOp::create(location);
  OpBuilder builder = OpBuilder::atBlockBegin(module->getBody());
  RankedTensorType type = RankedTensorType::get({12}, builder.getF32Type());

  Value tensorOf(double number) {
    return splat(builder, location, type, number);
  }

  /// An elementwise nest over 12 points.
  plan::NestOp nest(ArrayRef<NestRead> reads, Type result, ScalarBody then) {
    NestParts parts;
    parts.parallel = {12};
    parts.thenReads = SmallVector<NestRead>(reads);
    parts.outputMaps = {builder.getMultiDimIdentityMap(1)};
    parts.resultTypes = {result};
    return buildNest(builder, location, parts, nullptr, then);
  }

  /// What an i64 expression over d0 gives at each of 12 points.
  std::vector<int64_t> values(AffineExpr expression) {
    auto op =
        nest({}, type.clone(builder.getI64Type()),
             [&](OpBuilder &inside, Location at, ValueRange) {
               return SmallVector<Value>{emitAffine(inside, at, expression)};
             });
    auto result = gradus::testing::unwritten(op.getResultTypes()[0]);
    gradus::testing::NestInterpreter(op, {}, {&result}).run();
    return result.integers;
  }
};

TEST_F(Nests, ReadASplatAsAScalar) {
  auto identity = builder.getMultiDimIdentityMap(1);
  auto op = nest({{tensorOf(3), identity, {}}}, type,
                 [](OpBuilder &, Location, ValueRange values) {
                   return SmallVector<Value>(values);
                 });
  EXPECT_EQ(op->getNumOperands(), 0u);
  EXPECT_TRUE(succeeded(op.verify()));
}

TEST_F(Nests, ReadTheSameElementOnce) {
  Value state = ReadOp::create(builder, location, type, "x");
  auto identity = builder.getMultiDimIdentityMap(1);
  auto op = nest({{state, identity, {}}, {state, identity, {}}}, type,
                 [&](OpBuilder &inside, Location at, ValueRange values) {
                   EXPECT_EQ(values[0], values[1]);
                   return SmallVector<Value>{values[0]};
                 });
  EXPECT_EQ(op->getNumOperands(), 1u);
}

TEST_F(Nests, RoundIndicesDown) {
  AffineExpr d = builder.getAffineDimExpr(0);
  for (int64_t divisor : {2, 3, 4})
    for (AffineExpr from : {d, d - 5}) {
      auto quotients = values(from.floorDiv(divisor)),
           rests = values(from % divisor);
      auto given = values(from);
      for (int i = 0; i < 12; ++i) {
        EXPECT_EQ(quotients[i] * divisor + rests[i], given[i]);
        EXPECT_TRUE(rests[i] >= 0 && rests[i] < divisor);
      }
    }
}

TEST_F(Nests, DropDimensionsOfOne) {
  Domain domain(context.get());
  auto position = domain.parallel({3, 1, 4});
  EXPECT_EQ(domain.elementwise().parallel, (SmallVector<int64_t>{3, 4}));
  EXPECT_EQ(position[1], builder.getAffineConstantExpr(0));
}

} // namespace
