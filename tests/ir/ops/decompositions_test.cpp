// Decompositions compute what the whole op computes, and forward and backward
// of a loss share their work.

#include "ir/rounded.h"

#include "tests/ir/graphs.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace gradus;
using namespace gradus::testing;

namespace {

struct Row {
  const char *inputs;
  const char *statement;
  Range range = {};
};

// clang-format off
const Row rows[] = {
    {"%x: tensor<6x10xf64>, %l: tensor<6xi64>", "%y = gradus.softmax_cross_entropy %x, %l axis 1 : tensor<6x10xf64>, tensor<6xi64> -> tensor<f64>", {-2, 2, 10}},
    {"%x: tensor<6x5xf32>, %l: tensor<6xi32>", "%y = gradus.softmax_cross_entropy %x, %l axis 1 {ignore_index = 2 : i64, label_smoothing = 0.1 : f64} : tensor<6x5xf32>, tensor<6xi32> -> tensor<f32>", {-2, 2, 5}},
    {"%x: tensor<2x5x3xbf16>, %l: tensor<2x3xi64>", "%y = gradus.softmax_cross_entropy %x, %l axis 1 : tensor<2x5x3xbf16>, tensor<2x3xi64> -> tensor<f32>", {-2, 2, 5}},
    {"%x: tensor<5xf16>, %l: tensor<i64>", "%y = gradus.softmax_cross_entropy %x, %l axis 0 {label_smoothing = 1.0 : f64} : tensor<5xf16>, tensor<i64> -> tensor<f16>", {-2, 2, 5}},
    {"%g: tensor<f64>, %x: tensor<6x10xf64>, %l: tensor<6xi64>", "%y = gradus.softmax_cross_entropy_backward %g, %x, %l axis 1 : tensor<f64>, tensor<6x10xf64>, tensor<6xi64> -> tensor<6x10xf64>", {-2, 2, 10}},
    {"%g: tensor<f32>, %x: tensor<2x5x3xf32>, %l: tensor<2x3xi32>", "%y = gradus.softmax_cross_entropy_backward %g, %x, %l axis 1 {ignore_index = 2 : i64, label_smoothing = 0.1 : f64} : tensor<f32>, tensor<2x5x3xf32>, tensor<2x3xi32> -> tensor<2x5x3xf32>", {-2, 2, 5}},
    {"%g: tensor<f32>, %x: tensor<6x5xbf16>, %l: tensor<6xi32>", "%y = gradus.softmax_cross_entropy_backward %g, %x, %l axis 1 : tensor<f32>, tensor<6x5xbf16>, tensor<6xi32> -> tensor<6x5xbf16>", {-2, 2, 5}},
    {"%p: tensor<4x3xf32>, %t: tensor<4x3xf32>", "%y = gradus.mean_squared_error %p, %t : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<f32>"},
    {"%p: tensor<7xf16>, %t: tensor<7xf16>", "%y = gradus.mean_squared_error %p, %t : tensor<7xf16>, tensor<7xf16> -> tensor<f32>"},
    {"%x: tensor<2x3x4x2xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>", "%y = gradus.batch_norm %x, %s, %b mean %m variance %v epsilon 1.0e-3 : tensor<2x3x4x2xf32>, tensor<3xf32>", {0.5, 2}},
    {"%x: tensor<7x3xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>", "%y, %m, %v = gradus.batch_norm_training %x, %s, %b epsilon 1.0e-3 : tensor<7x3xf32>, tensor<3xf32>"},
    {"%x: tensor<1x2x3x2x2xf64>, %s: tensor<2xf64>, %b: tensor<2xf64>", "%y, %m, %v = gradus.batch_norm_training %x, %s, %b epsilon 1.0e-3 : tensor<1x2x3x2x2xf64>, tensor<2xf64>"},
    {"%g: tensor<2x3x4xf32>, %x: tensor<2x3x4xf32>, %s: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>", "%y, %ds, %db = gradus.batch_norm_backward %g, %x, %s mean %m variance %v epsilon 1.0e-3 : tensor<2x3x4xf32>, tensor<3xf32>", {0.5, 2}},
    {"%q: tensor<2x2x3x4xf32>, %k: tensor<2x2x3x4xf32>, %v: tensor<2x2x3x4xf32>", "%y, %l:2 = gradus.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>) -> (tensor<2x2x3x4xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>)"},
    {"%q: tensor<2x2x4x4xf32>, %v: tensor<2x2x4x3xf32>", "%y, %l:2 = gradus.attention %q, %q, %v mask %q {scale = 0.5 : f64} : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>, tensor<2x2x4x3xf32>, tensor<2x2x4x4xf32>) -> (tensor<2x2x4x3xf32>, tensor<2x2x4xf32>, tensor<2x2x4xf32>)"},
    {"%q: tensor<1x2x5x2xf32>, %k: tensor<1x2x4x2xf32>, %v: tensor<1x2x4x3xf32>", "%y, %l:2 = gradus.attention %q, %k, %v causal {scale = 0.5 : f64} : (tensor<1x2x5x2xf32>, tensor<1x2x4x2xf32>, tensor<1x2x4x3xf32>) -> (tensor<1x2x5x3xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>)"},
    {"%q: tensor<2x2x3x2xf32>, %k: tensor<2x2x4x2xf32>, %v: tensor<2x2x4x3xf32>, %m: tensor<2x1x3x4xf32>", "%y, %l:2 = gradus.attention %q, %k, %v mask %m {scale = 0.5 : f64} : (tensor<2x2x3x2xf32>, tensor<2x2x4x2xf32>, tensor<2x2x4x3xf32>, tensor<2x1x3x4xf32>) -> (tensor<2x2x3x3xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>)"},
    {"%q: tensor<2x2x4x3xf32>, %k: tensor<2x2x4x3xf32>, %v: tensor<2x2x4x2xf32>, %m: tensor<1x2x1x4xf32>", "%y, %l:2 = gradus.attention %q, %k, %v mask %m causal {scale = 0.5 : f64} : (tensor<2x2x4x3xf32>, tensor<2x2x4x3xf32>, tensor<2x2x4x2xf32>, tensor<1x2x1x4xf32>) -> (tensor<2x2x4x2xf32>, tensor<2x2x4xf32>, tensor<2x2x4xf32>)"},
    {"%q: tensor<2x2x3x3xf32>, %k: tensor<2x2x4x3xf32>, %v: tensor<2x2x4x2xf32>, %m: tensor<2x1x1x4xi1>", "%y, %l:2 = gradus.attention %q, %k, %v mask %m {scale = 0.5 : f64} : (tensor<2x2x3x3xf32>, tensor<2x2x4x3xf32>, tensor<2x2x4x2xf32>, tensor<2x1x1x4xi1>) -> (tensor<2x2x3x2xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>)"},
    {"%q: tensor<2x2x3x4xf32>, %k: tensor<2x2x5x4xf32>, %v: tensor<2x2x5x2xf32>, %l: tensor<2x2x3xf32>, %r: tensor<2x2x3xf32>, %g: tensor<2x2x3x2xf32>, %d: tensor<2x2x3xf32>, %m: tensor<2x1x3x5xi1>", "%a, %b, %c = gradus.attention_backward %q, %k, %v, %l, %r, %g, %d mask %m {scale = 0.5 : f64} : (tensor<2x2x3x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x2xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>, tensor<2x2x3x2xf32>, tensor<2x2x3xf32>, tensor<2x1x3x5xi1>) -> (tensor<2x2x3x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x2xf32>)"},
    {"%q: tensor<2x2x3x4xf32>, %k: tensor<2x2x5x4xf32>, %v: tensor<2x2x5x2xf32>, %l: tensor<2x2x3xf32>, %r: tensor<2x2x3xf32>, %g: tensor<2x2x3x2xf32>, %d: tensor<2x2x3xf32>, %m: tensor<2x1x3x5xi1>", "%a, %b, %c = gradus.attention_backward %q, %k, %v, %l, %r, %g, %d mask %m causal {scale = 0.5 : f64} : (tensor<2x2x3x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x2xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>, tensor<2x2x3x2xf32>, tensor<2x2x3xf32>, tensor<2x1x3x5xi1>) -> (tensor<2x2x3x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x2xf32>)"},
    {"%q: tensor<2x2x3x4xf32>, %k: tensor<2x2x5x4xf32>, %v: tensor<2x2x5x2xf32>, %s: tensor<i64>", "%y, %l:2 = gradus.attention %q, %k, %v step %s {scale = 0.5 : f64, dropout = 0.4 : f64, stream = 1 : i64, seed = 3 : i64} : (tensor<2x2x3x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x2xf32>, tensor<i64>) -> (tensor<2x2x3x2xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>)", {-2, 2, 10}},
    {"%q: tensor<2x2x3x4xf32>, %k: tensor<2x2x5x4xf32>, %v: tensor<2x2x5x2xf32>, %l: tensor<2x2x3xf32>, %r: tensor<2x2x3xf32>, %g: tensor<2x2x3x2xf32>, %d: tensor<2x2x3xf32>, %m: tensor<2x1x3x5xi1>, %s: tensor<i64>", "%a, %b, %c = gradus.attention_backward %q, %k, %v, %l, %r, %g, %d mask %m step %s {scale = 0.5 : f64, dropout = 0.5 : f64} : (tensor<2x2x3x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x2xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>, tensor<2x2x3x2xf32>, tensor<2x2x3xf32>, tensor<2x1x3x5xi1>, tensor<i64>) -> (tensor<2x2x3x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x2xf32>)", {-2, 2, 10}},
    {"%x: tensor<40x3xf32>, %l: tensor<40xi64>", "%y = gradus.accuracy %x, %l axis 1 : tensor<40x3xf32>, tensor<40xi64> -> tensor<f32>", {-2, 2, 3}},
    {"%x: tensor<3x20xf32>, %l: tensor<20xi32>", "%y = gradus.accuracy %x, %l axis 0 {ignore_index = 1 : i64} : tensor<3x20xf32>, tensor<20xi32> -> tensor<f32>", {-2, 2, 3}},
    {"%x: tensor<9x4xf32>", "%y = gradus.stop_gradient %x : tensor<9x4xf32>"},
    {"%x: tensor<5xf32>, %s: tensor<5xf32>", "%y = gradus.stop_gradient %x passing_to %s : tensor<5xf32>"},
    {"%x: tensor<9x4xf16>, %l: tensor<9xi64>", "%y = gradus.accuracy %x, %l axis 1 : tensor<9x4xf16>, tensor<9xi64> -> tensor<f32>", {-2, 2, 4}},
};
// clang-format on

/// Puts smaller ops in the place of every composite one.
void decomposeAll(GraphOp graph) {
  SmallVector<Decomposable> composites;
  graph.walk([&](Decomposable op) { composites.push_back(op); });
  for (Decomposable op : composites) {
    OpBuilder builder(op);
    op->replaceAllUsesWith(op.decompose(builder));
    op->erase();
  }
}

/// What an op makes of 16 bits is rounded once; the evaluator leaves it exact.
void roundResults(GraphOp graph, MutableArrayRef<HostTensor> results) {
  for (auto [value, result] : llvm::zip(graph.getReturned(), results)) {
    auto type = dyn_cast<FloatType>(getElementTypeOrSelf(value.getType()));
    if (!type || type.getWidth() >= 32)
      continue;
    for (double &number : result.floats)
      number = rounded(number, type);
  }
}

class Decomposition : public ::testing::TestWithParam<Row> {};

} // namespace

TEST_P(Decomposition, ComputesWhatTheOpComputes) {
  auto module = parseGraph(GetParam().inputs, GetParam().statement);
  ASSERT_TRUE(module);
  GraphOp graph = graphOf(*module);
  unsigned number = 0;
  for (Value result : lastOp(graph)->getResults())
    graph.addOutput("y" + std::to_string(number++), result);
  std::mt19937 bits(7);
  auto inputs = randomInputs(graph, bits, GetParam().range);
  StateMap states;
  auto expected = evaluateGraph(graph, inputs, states);
  roundResults(graph, *expected);
  decomposeAll(graph);
  ASSERT_TRUE(succeeded(verify(*module)));
  auto found = evaluateGraph(graph, inputs, states);
  ASSERT_TRUE(succeeded(found) && succeeded(expected));
  for (auto [each, wanted] : llvm::zip_equal(*found, *expected))
    expectNear(each, wanted, 1e-7);
}

INSTANTIATE_TEST_SUITE_P(Op, Decomposition, ::testing::ValuesIn(rows));

static int64_t count(GraphOp graph, StringRef name) {
  int64_t number = 0;
  graph.walk(
      [&](Operation *op) { number += op->getName().getStringRef() == name; });
  return number;
}

static void eliminateCommonSubexpressions(ModuleOp module) {
  PassManager passes(&context());
  passes.addPass(createCSEPass());
  ASSERT_TRUE(succeeded(passes.run(module)));
}

TEST(Decompositions, OfForwardAndBackwardShareTheSoftmax) {
  auto module = parseGraph(
      "%g: tensor<f32>, %x: tensor<6x10xf32>, %l: tensor<6xi64>",
      "%loss = gradus.softmax_cross_entropy %x, %l axis 1 : tensor<6x10xf32>, "
      "tensor<6xi64> -> tensor<f32>\n"
      "%dx = gradus.softmax_cross_entropy_backward %g, %x, %l axis 1 : "
      "tensor<f32>, tensor<6x10xf32>, tensor<6xi64> -> tensor<6x10xf32>");
  GraphOp graph = graphOf(*module);
  graph.walk(
      [&](SoftmaxCrossEntropyOp op) { graph.addOutput("loss", op.getLoss()); });
  graph.addOutput("dx", lastOp(graph)->getResult(0));
  decomposeAll(graph);
  eliminateCommonSubexpressions(*module);
  EXPECT_EQ(count(graph, "math.exp"), 1);
  EXPECT_EQ(count(graph, "gradus.iota"), 1);
  // The largest logit, the softmax's total, the logit at the label, the loss
  // and the number of labels.
  EXPECT_EQ(count(graph, "gradus.reduce"), 5);
}

TEST(Decompositions, OfNoCountedLabelGiveNaN) {
  auto module = parseGraph(
      "%x: tensor<2x3xf32>, %l: tensor<2xi64>",
      "%y = gradus.softmax_cross_entropy %x, %l axis 1 : tensor<2x3xf32>, "
      "tensor<2xi64> -> tensor<f32>");
  GraphOp graph = graphOf(*module);
  graph.addOutput("y", lastOp(graph)->getResult(0));
  std::vector<HostTensor> inputs = {zeros({2, 3}), integers({2}, {-100, -100})};
  StateMap states;
  EXPECT_TRUE(std::isnan((*evaluateGraph(graph, inputs, states))[0].floats[0]));
  decomposeAll(graph);
  EXPECT_TRUE(std::isnan((*evaluateGraph(graph, inputs, states))[0].floats[0]));
}

/// An index that lies outside reads NaN, and so does a label, in the gradient
/// of its sample as well.
TEST(Decompositions, OfALabelThatIsNoClassGiveNaN) {
  auto module = parseGraph(
      "%g: tensor<f32>, %x: tensor<2x3xf32>, %l: tensor<2xi64>",
      "%loss = gradus.softmax_cross_entropy %x, %l axis 1 : tensor<2x3xf32>, "
      "tensor<2xi64> -> tensor<f32>\n"
      "%dx = gradus.softmax_cross_entropy_backward %g, %x, %l axis 1 : "
      "tensor<f32>, tensor<2x3xf32>, tensor<2xi64> -> tensor<2x3xf32>");
  GraphOp graph = graphOf(*module);
  graph.walk(
      [&](SoftmaxCrossEntropyOp op) { graph.addOutput("loss", op.getLoss()); });
  graph.addOutput("dx", lastOp(graph)->getResult(0));
  decomposeAll(graph);
  for (int64_t label : {3, -1}) {
    HostTensor one = zeros(ArrayRef<int64_t>());
    one.floats[0] = 1;
    std::vector<HostTensor> inputs = {one, zeros({2, 3}),
                                      integers({2}, {0, label})};
    StateMap states;
    auto outputs = *evaluateGraph(graph, inputs, states);
    EXPECT_TRUE(std::isnan(outputs[0].floats[0]));
    EXPECT_FALSE(std::isnan(outputs[1].floats[0]));
    EXPECT_TRUE(std::isnan(outputs[1].floats[3]));
  }
}
