// The head of full normalization in numbers: spec values worked out by hand.

#include "passes/passes.h"

#include "tests/passes/program_text.h"

#include "mlir/Pass/PassManager.h"

using namespace gradus;
using gradus::testing::PassText;

namespace {

HostTensor tensorOf(std::vector<int64_t> shape, std::vector<double> values) {
  HostTensor tensor = zeros(shape);
  tensor.floats = std::move(values);
  return tensor;
}

/// Outputs of a dense layer without bias as such a head, of inputs [1, n].
std::vector<double> headOf(std::vector<double> x, std::vector<double> weights,
                           double multiplier) {
  std::string in = std::to_string(x.size()),
              out = std::to_string(weights.size() / x.size());
  std::string image = "tensor<1x" + in + "xf32>",
              y = "tensor<1x" + out + "xf32>",
              weight = "tensor<" + out + "x" + in + "xf32>";
  PassText text(
      "gradus.program @p attributes {recipe = {fc_to_fn = {}}} {\n"
      "gradus.state @fc.weight : " +
      weight +
      " {role = #gradus.role<parameter>, init = #gradus.init<zeros>}\n"
      "gradus.graph @predict(%x: " +
      image + ") -> (y: " + y + ") {\n%w = gradus.read @fc.weight : " + weight +
      "\n%y = gradus.matmul %x, %w transposed : " + image + ", " + weight +
      " -> " + y + "\ngradus.return %y : " + y + "\n}\n}");
  mlir::PassManager manager(&text.context);
  manager.nest<ProgramOp>().addPass(createFcToFn());
  EXPECT_TRUE(succeeded(manager.run(*text.module))) << text.messages;
  StateMap states;
  states["fc.weight"] = tensorOf(
      {int64_t(weights.size() / x.size()), int64_t(x.size())}, weights);
  states["fc.multiplier"] = tensorOf({1}, {multiplier});
  HostTensor input = tensorOf({1, int64_t(x.size())}, x);
  auto outputs =
      evaluateGraph(text.program().getGraph("predict"), input, states);
  EXPECT_TRUE(succeeded(outputs));
  return succeeded(outputs) ? outputs->front().floats : std::vector<double>();
}

void expectClose(const std::vector<double> &found,
                 const std::vector<double> &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-7) << i;
}

} // namespace

TEST(FcToFn, GivesTheCosinesOfInputAndWeights) {
  expectClose(headOf({3, 4}, {1, 0, 0, 2, 1, 1}, 1), {0.6, 0.8, 0.98994949});
}

TEST(FcToFn, MultipliesThem) {
  expectClose(headOf({3, 4}, {1, 0, 0, 2, 1, 1}, 2.5), {1.5, 2, 2.47487373});
}

TEST(FcToFn, DividesByNothingSmallerThanTheRootOfEpsilon) {
  expectClose(headOf({0.003, 0.004}, {1, 0, 0, 1}, 1), {0.3, 0.4});
}

/// The gradients of x, one row of weights and the multiplier, at dy = 1: x is a
/// parameter here, and the output the loss.
TEST(FcToFn, HasTheGradientsOfCosines) {
  PassText text(R"(
gradus.program @p attributes {recipe = {fc_to_fn = {}, loss = {type = "output", output = "y"}}} {
  gradus.state @x : tensor<1x2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @fc.weight : tensor<1x2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict() -> (y: tensor<f32>) {
    %x = gradus.read @x : tensor<1x2xf32>
    %w = gradus.read @fc.weight : tensor<1x2xf32>
    %0 = gradus.matmul %x, %w transposed : tensor<1x2xf32>, tensor<1x2xf32> -> tensor<1x1xf32>
    %y = gradus.reshape %0 : tensor<1x1xf32> -> tensor<f32>
    gradus.return %y : tensor<f32>
  }
})");
  mlir::PassManager manager(&text.context);
  mlir::OpPassManager &passes = manager.nest<ProgramOp>();
  passes.addPass(createFcToFn());
  passes.addPass(createTrainingStep());
  passes.addPass(createAutodiff());
  ASSERT_TRUE(succeeded(manager.run(*text.module))) << text.messages;
  StateMap states, gradients;
  states["x"] = tensorOf({1, 2}, {3, 4});
  states["fc.weight"] = tensorOf({1, 2}, {1, 0});
  states["fc.multiplier"] = tensorOf({1}, {2});
  ASSERT_TRUE(succeeded(
      evaluateGraph(text.program().getGraph("train"), {}, states, &gradients)));
  expectClose(gradients["x"].floats, {0.256, -0.192});
  expectClose(gradients["fc.weight"].floats, {0, 1.6});
  expectClose(gradients["fc.multiplier"].floats, {0.6});
}
