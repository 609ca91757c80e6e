// Whole programs, compiled, against the reference evaluator: outputs and every
// state after several training steps.

#include "compiled.h"

using namespace mlir;
using namespace gradus;

namespace {

struct Case {
  const char *name;
  std::string text;
  int64_t classes;
};

std::string recipe(const char *loss, const char *optimizer) {
  return std::string("recipe = {loss = ") + loss +
         ", metrics = [], trainable = [\"*\"], fixed = [], optimizer = " +
         optimizer + "}";
}

const char *const mse = R"({type = "mse", output = "y"})";
const char *const crossEntropy =
    R"({type = "softmax_cross_entropy", output = "y", class_axis = 1, label_smoothing = 1.0e-1})";
const char *const momentum =
    R"({type = "sgd", learning_rate = 1.0e-1, momentum = 9.0e-1, dampening = 0.0, nesterov = true, weight_decay = 1.0e-3})";
const char *const adamw =
    R"({type = "adamw", learning_rate = 1.0e-2, betas = [9.0e-1, 9.99e-1], epsilon = 1.0e-8, weight_decay = 1.0e-2})";

std::string mlp(int batch, int in, int hidden, int out, const char *loss,
                const char *optimizer) {
  std::string text =
      "gradus.program @mlp attributes {" + recipe(loss, optimizer) + R"(} {
  gradus.state @w1 : tensor<HxIxf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @b1 : tensor<Hxf32> {role = #gradus.role<parameter>, init = #gradus.init<uniform, 0.1 : f64>}
  gradus.state @w2 : tensor<OxHxf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @b2 : tensor<Oxf32> {role = #gradus.role<parameter>, init = #gradus.init<uniform, 0.1 : f64>}
  gradus.graph @predict(%x: tensor<NxIxf32>) -> (y: tensor<NxOxf32>) {
    %w1 = gradus.read @w1 : tensor<HxIxf32>
    %b1 = gradus.read @b1 : tensor<Hxf32>
    %w2 = gradus.read @w2 : tensor<OxHxf32>
    %b2 = gradus.read @b2 : tensor<Oxf32>
    %0 = gradus.matmul %x, %w1 transposed : tensor<NxIxf32>, tensor<HxIxf32> -> tensor<NxHxf32>
    %1 = gradus.broadcast %b1 dims [1] : tensor<Hxf32> -> tensor<NxHxf32>
    %2 = arith.addf %0, %1 : tensor<NxHxf32>
    %3 = math.tanh %2 : tensor<NxHxf32>
    %4 = gradus.matmul %3, %w2 transposed : tensor<NxHxf32>, tensor<OxHxf32> -> tensor<NxOxf32>
    %5 = gradus.broadcast %b2 dims [1] : tensor<Oxf32> -> tensor<NxOxf32>
    %6 = arith.addf %4, %5 : tensor<NxOxf32>
    gradus.return %6 : tensor<NxOxf32>
  }
})";
  auto put = [&](char letter, int size) {
    for (size_t at = 0; (at = text.find(letter, at)) != std::string::npos;
         ++at) {
      bool before = text[at - 1] == '<' || text[at - 1] == 'x';
      if (before && text[at + 1] == 'x')
        text.replace(at, 1, std::to_string(size));
    }
  };
  put('N', batch), put('I', in), put('H', hidden), put('O', out);
  return text;
}

/// The same with parts of what lies behind the tanh dropped.
std::string dropping(std::string text) {
  size_t at = text.find("%3 = math.tanh");
  size_t colon = text.find(':', at), end = text.find('\n', at);
  std::string type = text.substr(colon, end - colon);
  text.replace(at, end - at,
               "%t = math.tanh %2 " + type +
                   "\n    %3 = gradus.dropout %t ratio 0.3 " + type);
  return text;
}

/// Conv, pool, conv, pool, dense: LeNet's shape in small.
std::string network(const char *pool, const char *optimizer) {
  std::string window =
      " window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] ";
  std::string poolOp = std::string(pool) == "max"
                           ? "%p, %indices = gradus.max_pool %c" + window +
                                 ": tensor<4x6x12x12xf32> -> "
                                 "tensor<4x6x6x6xf32>, tensor<4x6x6x6xi32>"
                           : "%p = gradus.average_pool %c" + window +
                                 "count_include_pad : tensor<4x6x12x12xf32> -> "
                                 "tensor<4x6x6x6xf32>";
  return "gradus.program @network attributes {" +
         recipe(crossEntropy, optimizer) + R"(} {
  gradus.state @k : tensor<6x2x5x5xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @b : tensor<6xf32> {role = #gradus.role<parameter>, init = #gradus.init<uniform, 0.1 : f64>}
  gradus.state @k2 : tensor<8x6x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @w : tensor<5x128xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.graph @predict(%x: tensor<4x2x12x12xf32>) -> (y: tensor<4x5xf32>) {
    %k = gradus.read @k : tensor<6x2x5x5xf32>
    %b = gradus.read @b : tensor<6xf32>
    %k2 = gradus.read @k2 : tensor<8x6x3x3xf32>
    %w = gradus.read @w : tensor<5x128xf32>
    %0 = gradus.convolution %x, %k strides [1, 1] pads [2, 2] to [2, 2] dilations [1, 1] : tensor<4x2x12x12xf32>, tensor<6x2x5x5xf32> -> tensor<4x6x12x12xf32>
    %1 = gradus.broadcast %b dims [1] : tensor<6xf32> -> tensor<4x6x12x12xf32>
    %2 = arith.addf %0, %1 : tensor<4x6x12x12xf32>
    %c = gradus.relu %2 : tensor<4x6x12x12xf32>
    )" + poolOp +
         R"(
    %d = gradus.convolution %p, %k2 strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<4x6x6x6xf32>, tensor<8x6x3x3xf32> -> tensor<4x8x4x4xf32>
    %e = math.tanh %d : tensor<4x8x4x4xf32>
    %f = gradus.reshape %e : tensor<4x8x4x4xf32> -> tensor<4x128xf32>
    %y = gradus.matmul %f, %w transposed : tensor<4x128xf32>, tensor<5x128xf32> -> tensor<4x5xf32>
    gradus.return %y : tensor<4x5xf32>
  }
})";
}

std::vector<Case> cases() {
  return {
      {"mlp_regression_sgd", mlp(16, 10, 32, 1, mse, momentum), 2},
      {"mlp_regression_adamw", mlp(16, 10, 32, 1, mse, adamw), 2},
      {"mlp_odd_sizes", mlp(7, 13, 19, 5, crossEntropy, momentum), 5},
      {"mlp_wide", mlp(64, 300, 200, 10, crossEntropy, adamw), 10},
      {"mlp_without_units", mlp(6, 5, 0, 2, mse, adamw), 2},
      {"mlp_dropout", dropping(mlp(24, 40, 70, 5, crossEntropy, momentum)), 5},
      {"network_average", network("average", momentum), 5},
      {"network_max", network("max", adamw), 5}};
}

/// Inputs of a graph by name, drawn from a seed.
NamedTensors inputsOf(GraphOp graph, uint64_t seed, int64_t classes) {
  NamedTensors inputs;
  for (unsigned i = 0; i < graph.getInputNames().size(); ++i)
    inputs[graph.getInputName(i).str()] = randomTensor(
        cast<RankedTensorType>(graph.getArgumentTypes()[i]), seed + i, classes);
  return inputs;
}

class Programs : public testing::TestWithParam<Case> {};

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  return info.param.name;
}

} // namespace

TEST_P(Programs, TrainAsTheEvaluatorDoes) {
  Compiled compiled(GetParam().text);
  Evaluated evaluated(GetParam().text);
  for (const auto &[name, value] : compiled.states())
    evaluated.setState(name, value);
  for (uint64_t step = 0; step < 4; ++step) {
    auto inputs =
        inputsOf(evaluated.graph("train"), 10 * step, GetParam().classes);
    auto expected = evaluated.run("train", inputs);
    expectNear(compiled.run("train", inputs), expected, 1e-4, 1e-5);
  }
  expectNear(compiled.states(), evaluated.states(), 2e-3, 2e-4);
}

TEST_P(Programs, TrainToTheSameBitsTwiceAndOnAnyNumberOfThreads) {
  Compiled one(GetParam().text, {.threads = 1});
  Compiled again(GetParam().text, {.threads = 1});
  Compiled three(GetParam().text, {.threads = 3});
  EXPECT_EQ(one.bytes(), again.bytes());
  Evaluated shapes(GetParam().text);
  for (uint64_t step = 0; step < 3; ++step) {
    auto inputs =
        inputsOf(shapes.graph("train"), 10 * step, GetParam().classes);
    auto loss = one.run("train", inputs);
    expectNear(again.run("train", inputs), loss, 0, 0);
    expectNear(three.run("train", inputs), loss, 0, 0);
  }
  expectNear(again.states(), one.states(), 0, 0);
  expectNear(three.states(), one.states(), 0, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Programs, testing::ValuesIn(cases()), nameOf);

/// 28 distances and 8 means of the same elements, of each row: more than
/// registers hold at once.
static std::string manySums() {
  std::string ops, results, types, outputs;
  auto add = [&](const std::string &kind, int i, double at) {
    std::string k = std::to_string(i), wide = " : tensor<4x24xf32>\n";
    bool isMean = kind == "mean";
    ops += "%c" + k + " = arith.constant dense<" + std::to_string(at) +
           "> : tensor<4x24xf32>\n" + "%d" + k + " = arith.subf %x, %c" + k +
           wide + "%q" + k + " = arith.mulf %d" + k + ", %d" + k + wide;
    if (isMean)
      ops += "%n" + k + " = arith.negf %q" + k + wide + "%e" + k +
             " = math.exp %n" + k + wide;
    ops += "%y" + k + " = gradus.reduce " + kind + (isMean ? " %e" : " %q") +
           k + " axes [1] : tensor<4x24xf32> -> tensor<4xf32>\n";
    std::string comma = i ? ", " : "";
    results += comma + "%y" + k;
    types += comma + "tensor<4xf32>";
    outputs += comma + "y" + k + ": tensor<4xf32>";
  };
  for (int i = 0; i < 28; ++i)
    add("sum", i, 0.1 * i - 1.3);
  for (int i = 28; i < 36; ++i)
    add("mean", i, 0.25 * i - 8);
  return "gradus.program @p {\ngradus.graph @g(%x: tensor<4x24xf32>) -> (" +
         outputs + ") {\n" + ops + "gradus.return " + results + " : " + types +
         "\n}\n}";
}

TEST(ManySums, AreWhatTheEvaluatorGives) {
  ModuleText module(manySums());
  HostTensor x = randomTensor(
      RankedTensorType::get({4, 24}, Float32Type::get(&module.context)), 5);
  StateMap states;
  GraphOp graph = module.program().getGraph("g");
  auto results = evaluateGraph(graph, {x}, states);
  ASSERT_TRUE(succeeded(results));
  NamedTensors expected;
  for (unsigned i = 0; i < results->size(); ++i)
    expected[graph.getOutputName(i).str()] = (*results)[i];
  expectNear(Compiled(manySums()).run("g", {{"x", x}}), expected, 2e-6, 1e-6);
}
