// The scalar computation of each elementwise op computes what the op computes
// on tensors.

#include "tests/ir/graphs.h"

using namespace mlir;
using namespace gradus;
using namespace gradus::testing;

namespace {

/// Inputs of rank 0, so that a scalar is the whole tensor.
struct Row {
  const char *inputs;
  const char *statement;
};

// clang-format off
const Row rows[] = {
    {"%x: tensor<f32>", "%y = gradus.relu %x : tensor<f32>"},
    {"%x: tensor<f32>", "%y = gradus.sigmoid %x : tensor<f32>"},
    {"%x: tensor<f32>", "%y = gradus.gelu %x : tensor<f32>"},
    {"%x: tensor<f64>", "%y = gradus.gelu %x tanh : tensor<f64>"},
    {"%a: tensor<f32>, %b: tensor<f32>", "%y = arith.subf %a, %b : tensor<f32>"},
    {"%a: tensor<f32>, %b: tensor<f32>", "%y = arith.cmpf ogt, %a, %b : tensor<f32>"},
    {"%a: tensor<i64>, %b: tensor<i64>", "%y = arith.cmpi slt, %a, %b : tensor<i64>"},
    {"%c: tensor<i1>, %a: tensor<f32>, %b: tensor<f32>", "%y = arith.select %c, %a, %b : tensor<i1>, tensor<f32>"},
    {"%a: tensor<i32>", "%y = arith.sitofp %a : tensor<i32> to tensor<f32>"},
    {"%a: tensor<f32>", "%y = arith.truncf %a : tensor<f32> to tensor<f16>"},
    {"%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>", "%y = math.fma %a, %b, %c : tensor<f32>"},
    {"%a: tensor<f32>", "%y = math.tanh %a : tensor<f32>"},
};
// clang-format on

class Scalar : public ::testing::TestWithParam<Row> {};

Type scalarType(Value value) { return getElementTypeOrSelf(value); }

/// Builds the scalar computation in a block of its own and runs it.
HostTensor runScalar(Operation *op, ArrayRef<HostTensor> inputs) {
  Block block;
  for (Value operand : op->getOperands())
    block.addArgument(scalarType(operand), op->getLoc());
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&block);
  Value result =
      cast<Elementwise>(op).buildScalar(builder, block.getArguments());
  EXPECT_EQ(result.getType(), scalarType(op->getResult(0)));
  DenseMap<Value, HostTensor> values;
  for (auto [argument, input] : llvm::zip(block.getArguments(), inputs))
    values[argument] = input;
  for (Operation &step : block) {
    auto operands = llvm::map_to_vector(
        step.getOperands(), [&](Value value) { return values[value]; });
    values[step.getResult(0)] = (*evaluateOp(&step, operands))[0];
  }
  return values[result];
}

} // namespace

TEST_P(Scalar, ComputesWhatTheOpComputes) {
  auto module = parseGraph(GetParam().inputs, GetParam().statement);
  ASSERT_TRUE(module);
  GraphOp graph = graphOf(*module);
  std::mt19937 bits(7);
  for (int repetition = 0; repetition < 5; ++repetition) {
    auto inputs = randomInputs(graph, bits);
    expectNear(runScalar(lastOp(graph), inputs),
               (*evaluateOp(lastOp(graph), inputs))[0], 1e-7);
  }
}

INSTANTIATE_TEST_SUITE_P(Op, Scalar, ::testing::ValuesIn(rows));

TEST(Elementwise, HoldsForTheArithmeticOfOtherDialects) {
  for (StringRef name : {"arith.addf", "arith.maximumf", "arith.xori",
                         "arith.extui", "math.exp", "math.isnan"})
    EXPECT_TRUE(RegisteredOperationName::lookup(name, &context())
                    ->hasInterface<Elementwise>())
        << name.str();
  for (StringRef name : {"arith.constant", "gradus.reduce", "gradus.iota"})
    EXPECT_FALSE(RegisteredOperationName::lookup(name, &context())
                     ->hasInterface<Elementwise>())
        << name.str();
}
