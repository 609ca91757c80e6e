// Boost's methods on one small network: with every optimizer, in f32 and bf16,
// and each pass as one that may run twice and whose result may be read again.

#include "compiled.h"

#include "frontends/recipe/fields.h"
#include "frontends/recipe/recipe.h"
#include "passes/passes.h"

#include "mlir/Pass/PassManager.h"

#include <cmath>

using namespace gradus;

namespace {

constexpr llvm::StringLiteral kMethods = R"("loss": "softmax_cross_entropy",
    "less_bn": true, "fc_to_fn": true, "gradient_centralization": true,
    "gradient_freeze": {"groups": 2, "strategy": [0, 1, 0]},
    "groups": [{"match": ["*.bias"], "learning_rate_factor": 2.0,
                "weight_decay": 0.0}])";

/// A recipe's attribute as text, from its keys in JSON.
std::string recipeText(const std::string &keys) {
  auto recipe = recipe::read("{" + keys + "}", "the test's recipe");
  EXPECT_TRUE(recipe.ok()) << recipe.status();
  mlir::MLIRContext context;
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (recipe.ok())
    recipe::toAttribute(*recipe, context).print(stream);
  return text;
}

std::string state(const std::string &name, const std::string &type,
                  const std::string &init,
                  const std::string &role = "parameter") {
  return "gradus.state @" + name + " : tensor<" + type +
         "xf32> {role = #gradus.role<" + role + ">, init = #gradus.init<" +
         init + ">}\n";
}

std::string read(const std::string &name, const std::string &type) {
  return "%" + name + " = gradus.read @" + name + " : tensor<" + type +
         "xf32>\n";
}

/// States of a convolution and its normalization, or their place in a graph.
std::string block(const std::string &i, bool isState) {
  const std::string one = "constant, 1.0 : f64", kernel = "8x8x3x3";
  if (isState)
    return state("conv" + i, kernel, "kaiming_uniform") +
           state("scale" + i, "8", one) +
           state("shift" + i + ".bias", "8", "zeros") +
           state("mean" + i, "8", "zeros", "buffer") +
           state("variance" + i, "8", one, "buffer");
  const std::string image = "tensor<4x8x5x5xf32>";
  return read("conv" + i, kernel) + read("scale" + i, "8") + "%shift" + i +
         " = gradus.read @shift" + i + ".bias : tensor<8xf32>\n" +
         read("mean" + i, "8") + read("variance" + i, "8") + "%c" + i +
         " = gradus.convolution %r" + i + ", %conv" + i +
         " strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : " + image +
         ", tensor<8x8x3x3xf32> -> " + image + "\n%n" + i +
         " = gradus.batch_norm %c" + i + ", %scale" + i + ", %shift" + i +
         " mean %mean" + i + " variance %variance" + i +
         " epsilon 1.0e-5 momentum 0.9 : " + image + ", tensor<8xf32>\n";
}

/// A residual block of two convolutions, each normalized, and a dense layer.
std::string network(const std::string &recipe) {
  const std::string image = " : tensor<4x8x5x5xf32>\n";
  return "gradus.program @p attributes {recipe = " + recipeText(recipe) +
         "} {\n" + block("1", true) + block("2", true) +
         state("fc.weight", "10x8", "kaiming_uniform") +
         state("fc.bias", "10", "zeros") +
         "gradus.graph @predict(%x: tensor<4x8x5x5xf32>) -> (y: "
         "tensor<4x10xf32>) {\n%r1 = gradus.relu %x" +
         image + block("1", false) + "%r2 = gradus.relu %n1" + image +
         block("2", false) + "%sum = arith.addf %r1, %n2" + image +
         "%end = gradus.relu %sum" + image +
         R"(%flat = gradus.reduce mean %end axes [2, 3] : tensor<4x8x5x5xf32> -> tensor<4x8xf32>
%weight = gradus.read @fc.weight : tensor<10x8xf32>
%bias = gradus.read @fc.bias : tensor<10xf32>
%0 = gradus.matmul %flat, %weight transposed : tensor<4x8xf32>, tensor<10x8xf32> -> tensor<4x10xf32>
%1 = gradus.broadcast %bias dims [1] : tensor<10xf32> -> tensor<4x10xf32>
%y = arith.addf %0, %1 : tensor<4x10xf32>
gradus.return %y : tensor<4x10xf32>
}
})";
}

//===-- optimizers --------------------------------------------------------===//

/// Those that a recipe may name.
std::vector<std::string> optimizers() {
  std::vector<std::string> names;
  for (const recipe::Field &field : recipe::recipeField().fields)
    if (field.key == "optimizer")
      for (const recipe::Choice &choice : field.choices)
        names.emplace_back(choice.name);
  return names;
}

NamedTensors batch(int64_t step) {
  HostTensor x = zeros(llvm::ArrayRef<int64_t>{4, 8, 5, 5}),
             label = zeros(llvm::ArrayRef<int64_t>{4}, /*isFloat=*/false);
  for (size_t i = 0; i < x.floats.size(); ++i)
    x.floats[i] = float(std::sin(double(i * (step + 1))));
  for (int64_t i = 0; i < 4; ++i)
    label.integers[i] = (3 * i + step) % 10;
  return {{"x", x}, {"label", label}};
}

double distance(const HostTensor &a, const HostTensor &b) {
  double squares = 0;
  for (size_t i = 0; i < a.floats.size(); ++i)
    squares += (a.floats[i] - b.floats[i]) * (a.floats[i] - b.floats[i]);
  return std::sqrt(squares);
}

using Setting = std::tuple<std::string, std::string>;
class Boosted : public testing::TestWithParam<Setting> {};

} // namespace

/// Three steps, of which the second one is frozen. Of a parameter's way the
/// part that is another: where a gradient is next to nothing, optimizers that
/// look at its sign alone may go there or back. A way of 1e-5 from 1 is lost in
/// f32.
TEST_P(Boosted, TrainsAsTheEvaluatorSays) {
  auto [optimizer, precision] = GetParam();
  std::string text =
      network(kMethods.str() + R"(, "optimizer": {"type": ")" + optimizer +
              R"("}, "precision": ")" + precision + '"');
  Compiled compiled(text);
  Evaluated evaluated(text);
  NamedTensors start = compiled.states();
  for (const auto &[name, value] : start)
    evaluated.setState(name, value);
  EXPECT_FALSE(start.contains("scale1")) << "less_bn takes it out";
  for (int step = 0; step < 3; ++step) {
    compiled.run("train", batch(step));
    bool refreshes = step == 0 && optimizer == "thor";
    evaluated.run(refreshes   ? "train_refresh"
                  : step == 1 ? "train_cut1"
                              : "train",
                  batch(step));
  }
  NamedTensors found = compiled.states(), expected = evaluated.states();
  double allowed = precision == "f32" ? 2e-3 : 0.15;
  for (const char *name : {"conv1", "conv2", "scale2", "shift2.bias",
                           "fc.weight", "fc.multiplier"}) {
    double way = distance(expected.at(name), start.at(name));
    EXPECT_GT(way, 0) << name;
    EXPECT_LE(distance(found.at(name), expected.at(name)), allowed * way + 1e-6)
        << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, Boosted,
                         testing::Combine(testing::ValuesIn(optimizers()),
                                          testing::Values("f32", "bf16")),
                         [](const auto &info) {
                           return std::get<0>(info.param) + "_" +
                                  std::get<1>(info.param);
                         });

//===-- passes ------------------------------------------------------------===//

namespace {

std::string textOf(mlir::Operation *module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

struct Step {
  const char *name;
  std::unique_ptr<mlir::Pass> (*make)();
  bool isBoost;
};

std::unique_ptr<mlir::Pass> centralization() {
  return createGradientCentralization({"before_weight_decay"});
}

const Step kSteps[] = {{"less_bn", createLessBn, true},
                       {"fc_to_fn", createFcToFn, true},
                       {"training_step", createTrainingStep, false},
                       {"train_batch_norm", createTrainBatchNorm, false},
                       {"autodiff", createAutodiff, false},
                       {"gradient_freeze", createGradientFreeze, true},
                       {"gradient_centralization", centralization, true}};

void run(ModuleText &text, const Step &step) {
  mlir::PassManager manager(&text.context);
  manager.nest<ProgramOp>().addPass(step.make());
  EXPECT_TRUE(succeeded(manager.run(*text.module))) << step.name;
}

} // namespace

TEST(BoostPasses, RunTwiceWithoutChangeAndRoundTrip) {
  ModuleText text(network(kMethods.str()));
  for (const Step &step : kSteps) {
    std::string before = textOf(*text.module);
    run(text, step);
    std::string after = textOf(*text.module);
    EXPECT_NE(before, after) << step.name;
    if (!step.isBoost)
      continue;
    run(text, step);
    EXPECT_EQ(textOf(*text.module), after) << step.name << ", run twice";
    ModuleText again(after);
    EXPECT_EQ(textOf(*again.module), after) << step.name << ", read again";
  }
}
