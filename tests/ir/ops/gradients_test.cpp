// Every gradient rule against central differences in f64.
//
// A row is one op on one set of shapes. An op that implements Differentiable
// and has rows of fewer than two shapes fails a test.

#include "tests/ir/gradient_rows.h"

#include "ir/evaluator/roundings.h"

using namespace mlir;
using namespace gradus;
using namespace gradus::testing;

namespace {

/// `sum of weights * f(inputs)`, for the op's first result.
double weighted(Operation *op, ArrayRef<HostTensor> operands,
                const HostTensor &weights) {
  auto results = evaluateOp(op, operands);
  EXPECT_TRUE(succeeded(results));
  double total = 0;
  for (auto [value, weight] : llvm::zip((*results)[0].floats, weights.floats))
    total += value * weight;
  return total;
}

/// The slope of `weighted` along each element of one input.
HostTensor centralDifferences(Operation *op, std::vector<HostTensor> inputs,
                              size_t which, const HostTensor &weights) {
  const double step = 1e-5;
  auto operands = [&] {
    return llvm::map_to_vector(op->getOperands(), [&](Value value) {
      return inputs[cast<BlockArgument>(value).getArgNumber()];
    });
  };
  HostTensor slopes = inputs[which];
  for (size_t i = 0; i < slopes.floats.size(); ++i) {
    double &element = inputs[which].floats[i], before = element;
    element = before + step;
    double above = weighted(op, operands(), weights);
    element = before - step;
    double below = weighted(op, operands(), weights);
    element = before;
    slopes.floats[i] = (above - below) / (2 * step);
  }
  return slopes;
}

/// The gradient of each input: the sum over the operands that it is.
struct Gradients {
  std::vector<HostTensor> byInput;
  std::vector<bool> isNull;
};

/// Adds the op's pullback to its graph; its values become outputs.
SmallVector<unsigned> addPullback(GraphOp graph, Operation *op) {
  OpBuilder builder(graph.getBody().front().getTerminator());
  SmallVector<Value> seeds(op->getNumResults());
  seeds[0] = graph.addInput("seed", op->getResult(0).getType(), op->getLoc());
  auto gradients = cast<Differentiable>(op).pullback(builder, seeds);
  EXPECT_EQ(gradients.size(), op->getNumOperands());
  SmallVector<unsigned> inputs;
  for (auto [operand, gradient] : llvm::zip(op->getOperands(), gradients)) {
    if (!gradient)
      continue;
    EXPECT_EQ(gradient.getType(), operand.getType());
    inputs.push_back(cast<BlockArgument>(operand).getArgNumber());
    graph.addOutput("gradient" + std::to_string(inputs.size()), gradient);
  }
  return inputs;
}

/// What the rule says, with missing gradients as zeros.
std::vector<HostTensor> byRule(GraphOp graph, Operation *op,
                               std::vector<HostTensor> inputs,
                               const HostTensor &weights) {
  std::vector<HostTensor> sums;
  for (const HostTensor &input : inputs)
    sums.push_back(zeros(input.shape, input.isFloat));
  SmallVector<unsigned> receivers = addPullback(graph, op);
  EXPECT_TRUE(succeeded(verify(graph)));
  inputs.push_back(weights);
  StateMap states;
  auto gradients = evaluateGraph(graph, inputs, states);
  EXPECT_TRUE(succeeded(gradients));
  for (auto [receiver, gradient] : llvm::zip(receivers, *gradients))
    for (auto [sum, value] : llvm::zip(sums[receiver].floats, gradient.floats))
      sum += value;
  return sums;
}

class Gradient : public ::testing::TestWithParam<Row> {};

} // namespace

TEST_P(Gradient, EqualsCentralDifferences) {
  const Row &row = GetParam();
  auto module = parseGraph(row.inputs, row.statement);
  ASSERT_TRUE(module);
  GraphOp graph = graphOf(*module);
  Operation *op = lastOp(graph);
  std::mt19937 bits(7);
  std::vector<HostTensor> inputs = randomInputs(graph, bits, row.range);
  HostTensor weights = random(op->getResult(0).getType(), bits);

  std::vector<HostTensor> found = byRule(graph, op, inputs, weights);
  for (size_t which = 0; which < inputs.size(); ++which) {
    SCOPED_TRACE("input " + std::to_string(which));
    if (inputs[which].isFloat)
      expectNear(found[which], centralDifferences(op, inputs, which, weights),
                 1e-7);
  }
}

INSTANTIATE_TEST_SUITE_P(Op, Gradient, ::testing::ValuesIn(rows),
                         [](const auto &info) {
                           std::string name = info.param.op() + "_" +
                                              std::to_string(info.index);
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST(Gradients, AreTestedForEachDifferentiableOp) {
  std::map<std::string, std::set<std::string>> tested; // inputs by op
  for (const Row &row : rows)
    tested[row.op()].insert(row.inputs);
  for (RegisteredOperationName op : context().getRegisteredOperations())
    if (op.hasInterface<Differentiable>())
      EXPECT_GE(tested[op.getStringRef().str()].size(), 2u)
          << op.getStringRef().str()
          << " has a gradient rule and rows of fewer than two shapes";
}

/// The gradients of a statement at given inputs, for a seed of ones.
static std::vector<HostTensor> gradientsAt(const char *inputs,
                                           const char *statement,
                                           std::vector<HostTensor> values) {
  auto module = parseGraph(inputs, statement);
  GraphOp graph = graphOf(*module);
  Operation *op = lastOp(graph);
  HostTensor ones = zeros(cast<RankedTensorType>(op->getResult(0).getType()));
  llvm::fill(ones.floats, 1);
  return byRule(graph, op, values, ones);
}

TEST(Gradients, OfAMaximumAreSharedByEqualElements) {
  auto found = gradientsAt(
      "%x: tensor<4xf64>",
      "%y = gradus.reduce max %x axes [0] : tensor<4xf64> -> tensor<f64>",
      {floats({4}, {3, 1, 3, 2})});
  EXPECT_EQ(found[0].floats, (std::vector<double>{0.5, 0, 0.5, 0}));
}

TEST(Gradients, OfEqualOperandsAreHalved) {
  auto found = gradientsAt("%a: tensor<1xf64>, %b: tensor<1xf64>",
                           "%y = arith.minimumf %a, %b : tensor<1xf64>",
                           {floats({1}, {2}), floats({1}, {2})});
  EXPECT_EQ(found[0].floats[0], 0.5);
  EXPECT_EQ(found[1].floats[0], 0.5);
}

TEST(Gradients, VanishAtTheKinkOfReluAndAbs) {
  HostTensor zero = floats({1}, {0});
  EXPECT_EQ(gradientsAt("%x: tensor<1xf64>",
                        "%y = gradus.relu %x : tensor<1xf64>", {zero})[0]
                .floats[0],
            0);
  EXPECT_EQ(gradientsAt("%x: tensor<1xf64>",
                        "%y = math.absf %x : tensor<1xf64>", {zero})[0]
                .floats[0],
            0);
}

TEST(Gradients, StopAtWhatIsAConstantToThem) {
  auto stopped = gradientsAt("%x: tensor<2xf64>",
                             "%y = gradus.stop_gradient %x : tensor<2xf64>",
                             {floats({2}, {1, 2})});
  EXPECT_EQ(stopped[0].floats, (std::vector<double>{0, 0}));
  auto passed =
      gradientsAt("%x: tensor<2xf64>, %s: tensor<2xf64>",
                  "%y = gradus.stop_gradient %x passing_to %s : tensor<2xf64>",
                  {floats({2}, {1, 2}), floats({2}, {3, 4})});
  EXPECT_EQ(passed[0].floats, (std::vector<double>{0, 0}));
  EXPECT_EQ(passed[1].floats, (std::vector<double>{1, 1}));
}

TEST(Gradients, OfAPowerOfZeroAreFinite) {
  auto found = gradientsAt("%a: tensor<2xf64>, %b: tensor<2xf64>",
                           "%y = math.powf %a, %b : tensor<2xf64>",
                           {floats({2}, {0, 0}), floats({2}, {0, 2})});
  EXPECT_EQ(found[0].floats, (std::vector<double>{0, 0}));
  EXPECT_EQ(found[1].floats, (std::vector<double>{0, 0}));
}

namespace {

/// Rounds each value to its type.
struct ToTypes : Settling {
  void made(Value value, HostTensor &tensor) override {
    settleTo(getElementTypeOrSelf(value.getType()), tensor);
  }
};

/// The gradient of the divisor of one remainder of 16 bits.
double divisorGradient(const std::string &type, double a, double b, double g) {
  std::string tensor = "tensor<1x" + type + ">";
  auto module = parseGraph("%a: " + tensor + ", %b: " + tensor,
                           "%y = arith.remf %a, %b : " + tensor);
  GraphOp graph = graphOf(*module);
  addPullback(graph, lastOp(graph));
  StateMap states;
  ToTypes rounding;
  auto found = evaluateSettling(
      graph, {floats({1}, {a}), floats({1}, {b}), floats({1}, {g})}, states,
      nullptr, rounding);
  EXPECT_TRUE(succeeded(found));
  return found->back().floats[0];
}

} // namespace

// The quotients are 257 and 61,440,000.
TEST(Gradients, OfARemainderKnowQuotientsThat16BitsDoNotHold) {
  EXPECT_EQ(divisorGradient("bf16", 131, 0x1.04p-1, 3), -772);
  EXPECT_EQ(divisorGradient("f16", 60000, 0x1p-10, 0x1p-14), -3750);
}
