// The table of scalar ops says of each op what the rest of the compiler relies
// on.

#include "ir/scalar_ops.h"

#include "graphs.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

mlir::RegisteredOperationName registered(llvm::StringRef name) {
  auto found = mlir::RegisteredOperationName::lookup(name, &context());
  EXPECT_TRUE(found) << name.str();
  return *found;
}

const ScalarOp &named(llvm::StringRef name) {
  return *llvm::find_if(scalarOps(),
                        [&](const ScalarOp &op) { return op.name == name; });
}

} // namespace

TEST(ScalarOps, AreElementwiseAndEvaluated) {
  EXPECT_GT(scalarOps().size(), 70u);
  for (const ScalarOp &op : scalarOps()) {
    mlir::RegisteredOperationName name = registered(op.name);
    EXPECT_TRUE(name.hasInterface<Elementwise>()) << op.name.str();
    EXPECT_TRUE(name.hasInterface<Evaluable>()) << op.name.str();
  }
}

TEST(ScalarOps, HaveTheGradientsThatTheTableSays) {
  for (auto [name, isDifferentiable] :
       {std::pair("arith.mulf", true), std::pair("math.floor", true),
        std::pair("arith.cmpf", false), std::pair("math.trunc", false)})
    EXPECT_EQ(registered(name).hasInterface<Differentiable>(), isDifferentiable)
        << name;
}

TEST(ScalarOps, HaveSignatures) {
  auto select = named("arith.select").signatures();
  ASSERT_EQ(select.size(), 2u);
  EXPECT_EQ(select[1].operands, "i1 integer integer");
  EXPECT_EQ(select[1].result, "integer");
  auto narrower = named("arith.truncf").signatures();
  ASSERT_EQ(narrower.size(), 1u);
  EXPECT_EQ(narrower[0].operands, "float");
  EXPECT_EQ(narrower[0].result, "narrower float");
}

TEST(ScalarOps, TellOpsThatChangeTheWidth) {
  for (const char *name : {"arith.extf", "arith.truncf", "arith.extsi",
                           "arith.extui", "arith.trunci"})
    EXPECT_TRUE(named(name).changesWidth()) << name;
  for (const char *name : {"arith.sitofp", "arith.bitcast", "arith.addf"})
    EXPECT_FALSE(named(name).changesWidth()) << name;
}

TEST(ScalarOps, AreFoundByTheirOp) {
  auto module = parseGraph("%x: tensor<2xf32>", R"(
    %y = gradus.relu %x : tensor<2xf32>
    %z = math.exp %y : tensor<2xf32>)");
  mlir::Operation *op = lastOp(graphOf(*module));
  const ScalarOp *exponential = scalarOp(op);
  ASSERT_TRUE(exponential);
  EXPECT_EQ(exponential->name, "math.exp");
  EXPECT_EQ(exponential->cost, ScalarCost::function);
  EXPECT_FALSE(exponential->isExact);
  EXPECT_FALSE(scalarOp(op->getPrevNode()));
}
