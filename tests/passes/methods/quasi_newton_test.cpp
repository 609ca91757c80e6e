#include "passes/methods/quasi_newton.h"

#include "passes/state.h"
#include "tests/passes/program_text.h"

using namespace gradus;
using gradus::testing::PassText;
using mlir::OpBuilder;
using mlir::Value;

namespace {

constexpr const char *kProgram = R"(
gradus.program @p {
  gradus.graph @train(%h: tensor<2x2xf32>, %s: tensor<2xf32>, %y: tensor<2xf32>) -> (h: tensor<2x2xf32>, product: tensor<2xf32>, inner: tensor<f32>) {
    %product = arith.addf %s, %y : tensor<2xf32>
    %zero = arith.constant dense<0.0> : tensor<f32>
    gradus.return %h, %product, %zero : tensor<2x2xf32>, tensor<2xf32>, tensor<f32>
  }
})";

using Vector = std::vector<double>;

HostTensor tensor(const Vector &numbers, llvm::ArrayRef<int64_t> shape) {
  HostTensor result = zeros(shape);
  result.floats = numbers;
  return result;
}

struct Results {
  Vector inverse, product;
  double inner;
};

/// The estimate after a step, H y, and s y.
Results resultsOf(const Vector &h, const Vector &s, const Vector &y) {
  PassText text(kProgram);
  GraphOp graph = text.program().getGraph("train");
  mlir::Block &block = graph.getBody().front();
  OpBuilder builder(block.getTerminator());
  Arithmetic math(builder, graph.getLoc());
  auto input = [&](unsigned i) { return Value(block.getArgument(i)); };
  Value inverse = inverseAfterStep(math, input(0), input(1), input(2), 1e-20),
        product = timesVector(math, input(0), input(2)),
        inner = innerProduct(math, input(1), input(2));
  block.getTerminator()->setOperands({inverse, product, inner});
  StateMap states;
  auto outputs = evaluateGraph(
      graph, {tensor(h, {2, 2}), tensor(s, {2}), tensor(y, {2})}, states);
  EXPECT_TRUE(succeeded(outputs));
  return {(*outputs)[0].floats, (*outputs)[1].floats,
          (*outputs)[2].floats.at(0)};
}

} // namespace

TEST(QuasiNewton, MultipliesMatricesAndVectors) {
  Results results = resultsOf({1, 2, 3, 4}, {5, 6}, {7, 8});
  EXPECT_EQ(results.product, (Vector{1 * 7 + 2 * 8, 3 * 7 + 4 * 8}));
  EXPECT_EQ(results.inner, 5 * 7 + 6 * 8);
}

/// Section 8.10 of the rule, test 2: H becomes [[1.05, 0.1], [0.1, 1.2]].
TEST(QuasiNewton, LearnsOfAStep) {
  Results results = resultsOf({1, 0, 0, 1}, {-0.8, -1.6}, {-0.64, -1.28});
  Vector expected = {1.05, 0.1, 0.1, 1.2};
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(results.inverse[i], expected[i], 1e-6) << i;
}

/// The estimate then gives the step for the change: H y = s.
TEST(QuasiNewton, MeetsTheSecantEquation) {
  Vector s = {0.3, -0.7}, y = {0.9, 0.2};
  Vector flipped = {-0.9, -0.2};
  Results results = resultsOf({2, 0.5, 0.5, 1}, s, y);
  ASSERT_GT(results.inner, 0);
  for (size_t row : {0, 1})
    EXPECT_NEAR(results.inverse[2 * row] * y[0] +
                    results.inverse[2 * row + 1] * y[1],
                s[row], 1e-6);
  EXPECT_EQ(results.inverse[1], results.inverse[2]);
  // Where the gradient does not grow along the step, nothing is learned.
  EXPECT_EQ(resultsOf({2, 0.5, 0.5, 1}, s, flipped).inverse,
            (Vector{2, 0.5, 0.5, 1}));
  EXPECT_EQ(resultsOf({2, 0.5, 0.5, 1}, {0, 0}, y).inverse,
            (Vector{2, 0.5, 0.5, 1}));
}
