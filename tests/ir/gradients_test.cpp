// Every gradient rule against central differences in f64.
//
// A row is one op on one set of shapes. An op that implements Differentiable
// and has no row fails the first test.

#include "graphs.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gradus;
using namespace gradus::testing;

namespace {

struct Row {
  const char *inputs;
  const char *statement;
  Range range = {};

  /// `dialect.name` of the statement's op.
  std::string op() const {
    StringRef text = StringRef(statement).split('=').second.ltrim();
    return text.take_until(llvm::isSpace).str();
  }
};

const Range positive = {0.3, 3};
const Range tenClasses = {-2, 2, 10};

// clang-format off
const Row rows[] = {
    {"%x: tensor<2x6xf64>", "%y = gradus.reshape %x : tensor<2x6xf64> -> tensor<3x4xf64>"},
    {"%x: tensor<f64>", "%y = gradus.reshape %x : tensor<f64> -> tensor<1x1xf64>"},
    {"%x: tensor<2x3x4xf64>", "%y = gradus.transpose %x perm [2, 0, 1] : tensor<2x3x4xf64> -> tensor<4x2x3xf64>"},
    {"%x: tensor<3xf64>", "%y = gradus.broadcast %x dims [1] : tensor<3xf64> -> tensor<2x3x4xf64>"},
    {"%x: tensor<f64>", "%y = gradus.broadcast %x dims [] : tensor<f64> -> tensor<2x3xf64>"},
    {"%x: tensor<2x1x3xf64>", "%y = gradus.broadcast %x dims [0, 2, 3] : tensor<2x1x3xf64> -> tensor<2x4x5x3xf64>"},
    {"%x: tensor<2x3x4xf64>", "%y = gradus.reduce sum %x axes [1] : tensor<2x3x4xf64> -> tensor<2x4xf64>"},
    {"%x: tensor<2x3x4xf64>", "%y = gradus.reduce mean %x axes [0, 2] : tensor<2x3x4xf64> -> tensor<3xf64>"},
    {"%x: tensor<2x3x4xf64>", "%y = gradus.reduce max %x axes [2] : tensor<2x3x4xf64> -> tensor<2x3xf64>"},
    {"%x: tensor<2x3x4xf64>", "%y = gradus.reduce min %x axes [0, 1, 2] : tensor<2x3x4xf64> -> tensor<f64>"},
    {"%a: tensor<3x4xf64>, %b: tensor<4x5xf64>", "%y = gradus.matmul %a, %b : tensor<3x4xf64>, tensor<4x5xf64> -> tensor<3x5xf64>"},
    {"%a: tensor<4x3xf64>, %b: tensor<4x5xf64>", "%y = gradus.matmul %a transposed, %b : tensor<4x3xf64>, tensor<4x5xf64> -> tensor<3x5xf64>"},
    {"%a: tensor<3x4xf64>, %b: tensor<5x4xf64>", "%y = gradus.matmul %a, %b transposed : tensor<3x4xf64>, tensor<5x4xf64> -> tensor<3x5xf64>"},
    {"%a: tensor<4x3xf64>, %b: tensor<5x4xf64>", "%y = gradus.matmul %a transposed, %b transposed : tensor<4x3xf64>, tensor<5x4xf64> -> tensor<3x5xf64>"},
    {"%a: tensor<2x2x4x3xf64>, %b: tensor<2x2x5x4xf64>", "%y = gradus.matmul %a transposed, %b transposed : tensor<2x2x4x3xf64>, tensor<2x2x5x4xf64> -> tensor<2x2x3x5xf64>"},
    {"%x: tensor<3x4xf64>", "%y = gradus.relu %x : tensor<3x4xf64>"},
    {"%x: tensor<3x4xf64>", "%y = gradus.sigmoid %x : tensor<3x4xf64>"},
    {"%x: tensor<3x4xf64>", "%y = gradus.gelu %x : tensor<3x4xf64>"},
    {"%x: tensor<3x4xf64>", "%y = gradus.gelu %x tanh : tensor<3x4xf64>"},

    {"%x: tensor<2x4x5x6xf64>, %w: tensor<6x2x3x2xf64>", "%y = gradus.convolution %x, %w strides [2, 1] pads [1, 0] to [2, 1] dilations [1, 2] groups 2 : tensor<2x4x5x6xf64>, tensor<6x2x3x2xf64> -> tensor<2x6x3x5xf64>"},
    {"%x: tensor<2x3x7xf64>, %w: tensor<4x3x3xf64>", "%y = gradus.convolution %x, %w strides [2] pads [1] to [1] dilations [1] : tensor<2x3x7xf64>, tensor<4x3x3xf64> -> tensor<2x4x4xf64>"},
    {"%x: tensor<1x2x3x4x3xf64>, %w: tensor<2x1x2x2x2xf64>", "%y = gradus.convolution %x, %w strides [1, 1, 1] pads [0, 1, 0] to [0, 0, 1] dilations [1, 1, 1] groups 2 : tensor<1x2x3x4x3xf64>, tensor<2x1x2x2x2xf64> -> tensor<1x2x2x4x3xf64>"},
    {"%g: tensor<2x6x3x5xf64>, %w: tensor<6x2x3x2xf64>", "%y = gradus.convolution_backward_data %g, %w strides [2, 1] pads [1, 0] to [2, 1] dilations [1, 2] groups 2 : tensor<2x6x3x5xf64>, tensor<6x2x3x2xf64> -> tensor<2x4x5x6xf64>"},
    {"%x: tensor<2x4x5x6xf64>, %g: tensor<2x6x3x5xf64>", "%y = gradus.convolution_backward_weights %x, %g strides [2, 1] pads [1, 0] to [2, 1] dilations [1, 2] groups 2 : tensor<2x4x5x6xf64>, tensor<2x6x3x5xf64> -> tensor<6x2x3x2xf64>"},
    {"%x: tensor<2x3x6x5xf64>", "%y, %i = gradus.max_pool %x window [3, 2] strides [2, 1] pads [1, 0] to [1, 1] dilations [1, 1] : tensor<2x3x6x5xf64> -> tensor<2x3x3x5xf64>, tensor<2x3x3x5xi32>"},
    {"%x: tensor<2x2x8xf64>", "%y, %i = gradus.max_pool %x window [3] strides [1] pads [0] to [0] dilations [2] : tensor<2x2x8xf64> -> tensor<2x2x4xf64>, tensor<2x2x4xi32>"},
    {"%x: tensor<2x3x6x5xf64>", "%y = gradus.average_pool %x window [3, 2] strides [2, 1] pads [1, 0] to [1, 1] dilations [1, 1] : tensor<2x3x6x5xf64> -> tensor<2x3x3x5xf64>"},
    {"%x: tensor<2x3x6x5xf64>", "%y = gradus.average_pool %x window [3, 2] strides [2, 1] pads [1, 0] to [1, 1] dilations [1, 1] count_include_pad : tensor<2x3x6x5xf64> -> tensor<2x3x3x5xf64>"},
    {"%g: tensor<2x3x3x5xf64>", "%y = gradus.average_pool_backward %g window [3, 2] strides [2, 1] pads [1, 0] to [1, 1] dilations [1, 1] : tensor<2x3x3x5xf64> -> tensor<2x3x6x5xf64>"},
    {"%g: tensor<2x3x3x5xf64>", "%y = gradus.average_pool_backward %g window [3, 2] strides [2, 1] pads [1, 0] to [1, 1] dilations [1, 1] count_include_pad : tensor<2x3x3x5xf64> -> tensor<2x3x6x5xf64>"},
    {"%x: tensor<6x10xf64>, %l: tensor<6xi64>", "%y = gradus.softmax_cross_entropy %x, %l axis 1 : tensor<6x10xf64>, tensor<6xi64> -> tensor<f64>", tenClasses},
    {"%x: tensor<6x10xf64>, %l: tensor<6xi32>", "%y = gradus.softmax_cross_entropy %x, %l axis 1 {ignore_index = 3 : i64, label_smoothing = 0.1 : f64} : tensor<6x10xf64>, tensor<6xi32> -> tensor<f64>", {-2, 2, 4}},
    {"%x: tensor<2x10x3xf64>, %l: tensor<2x3xi64>", "%y = gradus.softmax_cross_entropy %x, %l axis 1 : tensor<2x10x3xf64>, tensor<2x3xi64> -> tensor<f64>", tenClasses},
    {"%x: tensor<10xf64>, %l: tensor<i64>", "%y = gradus.softmax_cross_entropy %x, %l axis 0 : tensor<10xf64>, tensor<i64> -> tensor<f64>", tenClasses},
    {"%p: tensor<4x3xf64>, %t: tensor<4x3xf64>", "%y = gradus.mean_squared_error %p, %t : tensor<4x3xf64>, tensor<4x3xf64> -> tensor<f64>"},

    {"%a: tensor<2x3xf64>, %b: tensor<2x3xf64>", "%y = arith.addf %a, %b : tensor<2x3xf64>"},
    {"%a: tensor<2x3xf64>, %b: tensor<2x3xf64>", "%y = arith.subf %a, %b : tensor<2x3xf64>"},
    {"%a: tensor<2x3xf64>, %b: tensor<2x3xf64>", "%y = arith.mulf %a, %b : tensor<2x3xf64>"},
    {"%a: tensor<2x3xf64>", "%y = arith.mulf %a, %a : tensor<2x3xf64>"},
    {"%a: tensor<2x3xf64>, %b: tensor<2x3xf64>", "%y = arith.divf %a, %b : tensor<2x3xf64>", positive},
    {"%a: tensor<2x3xf64>", "%y = arith.negf %a : tensor<2x3xf64>"},
    {"%a: tensor<3x4xf64>, %b: tensor<3x4xf64>", "%y = arith.maximumf %a, %b : tensor<3x4xf64>"},
    {"%a: tensor<3x4xf64>, %b: tensor<3x4xf64>", "%y = arith.minimumf %a, %b : tensor<3x4xf64>"},
    {"%a: tensor<3x4xf64>, %b: tensor<3x4xf64>", "%y = arith.maxnumf %a, %b : tensor<3x4xf64>"},
    {"%a: tensor<3x4xf64>, %b: tensor<3x4xf64>", "%y = arith.minnumf %a, %b : tensor<3x4xf64>"},
    {"%c: tensor<3x4xi1>, %a: tensor<3x4xf64>, %b: tensor<3x4xf64>", "%y = arith.select %c, %a, %b : tensor<3x4xi1>, tensor<3x4xf64>"},
    {"%a: tensor<5xf32>", "%y = arith.extf %a : tensor<5xf32> to tensor<5xf64>"},
    {"%a: tensor<5xf64>", "%y = arith.truncf %a : tensor<5xf64> to tensor<5xbf16>"},

    {"%a: tensor<2x3xf64>", "%y = math.absf %a : tensor<2x3xf64>"},
    {"%a: tensor<2x3xf64>", "%y = math.cos %a : tensor<2x3xf64>"},
    {"%a: tensor<2x3xf64>", "%y = math.erf %a : tensor<2x3xf64>"},
    {"%a: tensor<2x3xf64>", "%y = math.exp %a : tensor<2x3xf64>"},
    {"%a: tensor<2x3xf64>", "%y = math.expm1 %a : tensor<2x3xf64>"},
    {"%a: tensor<3xf64>, %b: tensor<3xf64>, %c: tensor<3xf64>", "%y = math.fma %a, %b, %c : tensor<3xf64>"},
    {"%a: tensor<2x3xf64>", "%y = math.log %a : tensor<2x3xf64>", positive},
    {"%a: tensor<2x3xf64>", "%y = math.log1p %a : tensor<2x3xf64>", positive},
    {"%a: tensor<2x3xf64>, %b: tensor<2x3xf64>", "%y = math.powf %a, %b : tensor<2x3xf64>", positive},
    {"%a: tensor<2x3xf64>", "%y = math.rsqrt %a : tensor<2x3xf64>", positive},
    {"%a: tensor<2x3xf64>", "%y = math.sin %a : tensor<2x3xf64>"},
    {"%a: tensor<2x3xf64>", "%y = math.sqrt %a : tensor<2x3xf64>", positive},
    {"%a: tensor<2x3xf64>", "%y = math.tanh %a : tensor<2x3xf64>"},
};
// clang-format on

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

INSTANTIATE_TEST_SUITE_P(
    Op, Gradient, ::testing::ValuesIn(rows), [](const auto &info) {
      std::string name = info.param.op() + "_" + std::to_string(info.index);
      std::replace(name.begin(), name.end(), '.', '_');
      return name;
    });

TEST(Gradients, AreTestedForEachDifferentiableOp) {
  std::set<std::string> tested;
  for (const Row &row : rows)
    tested.insert(row.op());
  for (RegisteredOperationName op : context().getRegisteredOperations())
    if (op.hasInterface<Differentiable>())
      EXPECT_TRUE(tested.count(op.getStringRef().str()))
          << op.getStringRef().str() << " has a gradient rule and no row here";
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
  EXPECT_EQ(gradientsAt("%x: tensor<1xf64>", "%y = gradus.relu %x : tensor<1xf64>",
                        {zero})[0].floats[0], 0);
  EXPECT_EQ(gradientsAt("%x: tensor<1xf64>", "%y = math.absf %x : tensor<1xf64>",
                        {zero})[0].floats[0], 0);
}

TEST(Gradients, OfAPowerOfZeroAreFinite) {
  auto found = gradientsAt("%a: tensor<2xf64>, %b: tensor<2xf64>",
                           "%y = math.powf %a, %b : tensor<2xf64>",
                           {floats({2}, {0, 0}), floats({2}, {0, 2})});
  EXPECT_EQ(found[0].floats, (std::vector<double>{0, 0}));
  EXPECT_EQ(found[1].floats, (std::vector<double>{0, 0}));
}
