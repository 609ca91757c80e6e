// Gradients of scans whose results are all used, against central differences
// and against those of the steps written out.

#include "ir/build.h"
#include "ir/scan_ops.h"
#include "tests/ir/graphs.h"

using namespace mlir;
using namespace gradus;
using namespace gradus::testing;

namespace {

const char *const inputs =
    "%h: tensor<4x3xf64>, %c: tensor<4x3xf64>, %x: tensor<5x4x6xf64>, "
    "%w: tensor<6x3xf64>, %b: tensor<3xf64>, %s: tensor<4x3xf64>, "
    "%n: tensor<4xi64>, %t: tensor<5xi64>";

/// A cell whose rows end at lengths of their own, with a weight, a bias, and a
/// factor whose gradient is a sum in the scan.
std::string cell(const std::string &how) {
  return "%y, %z, %all, %before = gradus.scan 5 " + how +
         " carry(%h, %c : tensor<4x3xf64>, tensor<4x3xf64>) "
         "over(%x, %t : tensor<5x4x6xf64>, tensor<5xi64>) "
         "with(%w, %b, %s, %n : tensor<6x3xf64>, tensor<3xf64>, "
         "tensor<4x3xf64>, tensor<4xi64>) body {\n"
         R"(^bb0(%h0: tensor<4x3xf64>, %c0: tensor<4x3xf64>, %x0: tensor<4x6xf64>, %t0: tensor<i64>, %w0: tensor<6x3xf64>, %b0: tensor<3xf64>, %s0: tensor<4x3xf64>, %n0: tensor<4xi64>):
      %p = gradus.matmul %h0, %w0 transposed : tensor<4x3xf64>, tensor<6x3xf64> -> tensor<4x6xf64>
      %q = arith.addf %p, %x0 : tensor<4x6xf64>
      %i = gradus.slice %q starts [0, 0] steps [1, 1] : tensor<4x6xf64> -> tensor<4x3xf64>
      %j = gradus.slice %q starts [0, 3] steps [1, 1] : tensor<4x6xf64> -> tensor<4x3xf64>
      %k = gradus.sigmoid %i : tensor<4x3xf64>
      %l = math.tanh %j : tensor<4x3xf64>
      %m = arith.mulf %k, %l : tensor<4x3xf64>
      %d = arith.mulf %c0, %s0 : tensor<4x3xf64>
      %e = arith.addf %m, %d : tensor<4x3xf64>
      %bias = gradus.broadcast %b0 dims [1] : tensor<3xf64> -> tensor<4x3xf64>
      %f = arith.addf %e, %bias : tensor<4x3xf64>
      %g = math.tanh %f : tensor<4x3xf64>
      %at = gradus.broadcast %t0 dims [] : tensor<i64> -> tensor<4xi64>
      %runs = arith.cmpi slt, %at, %n0 : tensor<4xi64>
      %mask = gradus.broadcast %runs dims [0] : tensor<4xi1> -> tensor<4x3xi1>
      %next = arith.select %mask, %g, %h0 : tensor<4x3xi1>, tensor<4x3xf64>
      gradus.yield %next, %f, %g, %h0 : tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>
    } -> tensor<4x3xf64>, tensor<4x3xf64>, tensor<5x4x3xf64>, tensor<5x4x3xf64>)";
}

std::vector<HostTensor> valuesOf(GraphOp graph) {
  std::mt19937 bits(5);
  std::vector<HostTensor> values = randomInputs(graph, bits, {-1, 1});
  values[6].integers = {5, 2, 0, 3};
  values[7].integers = {0, 1, 2, 3, 4};
  return values;
}

std::vector<HostTensor> weightsOf(ScanOp scan) {
  std::mt19937 bits(9);
  std::vector<HostTensor> weights;
  for (Type type : scan.getResultTypes())
    weights.push_back(random(type, bits));
  return weights;
}

/// The sum over all results of weights times elements.
double weighted(ScanOp scan, ArrayRef<HostTensor> values,
                ArrayRef<HostTensor> weights) {
  auto results = evaluateOp(scan, values);
  EXPECT_TRUE(succeeded(results));
  double total = 0;
  for (auto [result, weight] : llvm::zip(*results, weights))
    for (auto [x, w] : llvm::zip(result.floats, weight.floats))
      total += x * w;
  return total;
}

/// The gradients of the operands by the scan's rule.
std::vector<HostTensor> byRule(GraphOp graph, ScanOp scan,
                               std::vector<HostTensor> values,
                               ArrayRef<HostTensor> weights) {
  OpBuilder builder(graph.getBody().front().getTerminator());
  SmallVector<Value> seeds;
  for (Value result : scan.getResults())
    seeds.push_back(graph.addInput("seed" + std::to_string(seeds.size()),
                                   result.getType(), scan.getLoc()));
  for (auto [number, gradient] : llvm::enumerate(scan.pullback(builder, seeds)))
    if (gradient)
      graph.addOutput("gradient" + std::to_string(number), gradient);
  EXPECT_TRUE(succeeded(verify(graph)));
  llvm::append_range(values, weights);
  StateMap states;
  auto found = evaluateGraph(graph, values, states);
  EXPECT_TRUE(succeeded(found));
  return {found->begin(), found->end()};
}

class ScanGradients : public ::testing::TestWithParam<const char *> {};

} // namespace

TEST_P(ScanGradients, EqualCentralDifferences) {
  auto module = parseGraph(inputs, cell(GetParam()));
  ASSERT_TRUE(module);
  GraphOp graph = graphOf(*module);
  auto scan = cast<ScanOp>(lastOp(graph));
  // The operands in the order of the inputs.
  const std::vector<size_t> order = {0, 1, 2, 7, 3, 4, 5, 6};
  std::vector<HostTensor> values = valuesOf(graph), operands;
  for (size_t input : order)
    operands.push_back(values[input]);
  std::vector<HostTensor> weights = weightsOf(scan), slopes;
  for (HostTensor &operand : operands) {
    HostTensor slope = operand;
    for (size_t i = 0; i < operand.floats.size(); ++i) {
      const double step = 1e-5, before = operand.floats[i];
      operand.floats[i] = before + step;
      double above = weighted(scan, operands, weights);
      operand.floats[i] = before - step;
      slope.floats[i] =
          (above - weighted(scan, operands, weights)) / (2 * step);
      operand.floats[i] = before;
    }
    if (operand.isFloat)
      slopes.push_back(slope);
  }
  std::vector<HostTensor> found = byRule(graph, scan, values, weights);
  ASSERT_EQ(found.size(), slopes.size());
  for (size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE("operand " + std::to_string(i));
    expectNear(found[i], slopes[i], 1e-7);
  }
}

INSTANTIATE_TEST_SUITE_P(Direction, ScanGradients,
                         ::testing::Values("", "reverse"));

TEST(ScanGradients, NeedNoSumOfWeightsInTheLoop) {
  auto module = parseGraph(inputs, cell(""));
  GraphOp graph = graphOf(*module);
  auto scan = cast<ScanOp>(lastOp(graph));
  std::vector<HostTensor> values = valuesOf(graph);
  byRule(graph, scan, values, weightsOf(scan));
  auto scans = llvm::to_vector(graph.getBody().front().getOps<ScanOp>());
  ScanOp backward = scans.back();
  EXPECT_TRUE(backward.getReverse());
  // The two states, and the sum for the factor.
  EXPECT_EQ(backward.getCarried().size(), 3u);
  auto matmuls = llvm::to_vector(graph.getBody().front().getOps<MatmulOp>());
  ASSERT_EQ(matmuls.size(), 1u);
  EXPECT_EQ(tensorType(matmuls[0].getA()).getDimSize(0), 20);
}

/// What follows from a slice is found in one walk, not once for each of the
/// 2^64 ways through a chain of sums.
TEST(ScanGradients, AreFoundBehindALongChain) {
  std::string body = "%y = gradus.scan 2 carry(%h : tensor<f64>) "
                     "over(%x : tensor<2xf64>) body {\n"
                     "^bb0(%h0: tensor<f64>, %v0: tensor<f64>):\n";
  for (int i = 0; i < 64; ++i) {
    std::string from = "%v" + std::to_string(i);
    body += "%v" + std::to_string(i + 1) + " = arith.addf " + from + ", " +
            from + " : tensor<f64>\n";
  }
  auto module = parseGraph("%h: tensor<f64>, %x: tensor<2xf64>",
                           body + "%r = arith.mulf %h0, %v64 : tensor<f64>\n"
                                  "gradus.yield %r : tensor<f64>\n"
                                  "} -> tensor<f64>");
  ASSERT_TRUE(module);
  GraphOp graph = graphOf(*module);
  auto scan = cast<ScanOp>(lastOp(graph));
  const double large = std::ldexp(1, 64);
  std::vector<HostTensor> found = byRule(
      graph, scan, {floats({}, {3}), floats({2}, {1 / large, 2 / large})},
      {floats({}, {1})});
  ASSERT_EQ(found.size(), 2u);
  expectNear(found[0], floats({}, {2}), 0);
  expectNear(found[1], floats({2}, {6 * large, 3 * large}), 0);
}

TEST(Scan, IsWhatItsStepsAreWrittenOut) {
  for (const char *how : {"", "reverse"}) {
    auto module = parseGraph(inputs, cell(how));
    GraphOp graph = graphOf(*module);
    auto scan = cast<ScanOp>(lastOp(graph));
    OpBuilder builder(graph.getBody().front().getTerminator());
    SmallVector<Value> all(scan.getResults());
    llvm::append_range(all, scan.decompose(builder));
    for (auto [number, value] : llvm::enumerate(all))
      graph.addOutput("out" + std::to_string(number), value);
    StateMap states;
    auto found = evaluateGraph(graph, valuesOf(graph), states);
    ASSERT_TRUE(succeeded(found));
    for (unsigned i = 0; i < scan.getNumResults(); ++i)
      expectNear((*found)[i], (*found)[i + scan.getNumResults()], 0);
  }
}
