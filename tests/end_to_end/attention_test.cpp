// Attention over more keys than a tile has, in a whole step: heads divided
// between threads make the same bits on any number of them, and the step is the
// evaluator's.

#include "compiled.h"

using namespace gradus;

namespace {

/// One head and a causal mask, or two and a mask of the input's; both drop.
std::string program(bool causal) {
  std::string heads = causal ? "1" : "2", mask = "tensor<1x1x1x1300xf32>",
              type = "tensor<1x" + heads + "x1300x4xf32>",
              rows = "tensor<1x" + heads + "x1300xf32>";
  std::string text = "gradus.program @p attributes {recipe = {seed = 3, loss = "
                     "{type = \"mse\", output = \"y\"}, optimizer = {type = "
                     "\"sgd\", learning_rate = 100.0}}} {\n";
  for (const char *name : {"q", "k", "v"})
    text += "gradus.state @" + std::string(name) + " : " + type +
            " {role = #gradus.role<parameter>, init = #gradus.init<zeros>}\n";
  text += "gradus.graph @predict(%m: " + mask + ") -> (y: " + type + ") {\n";
  for (const char *name : {"q", "k", "v"})
    text += "%" + std::string(name) + " = gradus.read @" + name + " : " + type +
            "\n";
  return text + "%y, %l = gradus.attention %q, %k, %v" +
         (causal ? " causal" : " mask %m") +
         " {scale = 0.5 : f64, dropout = 0.2 : f64} : (" + type + ", " + type +
         ", " + type + (causal ? "" : ", " + mask) + ") -> (" + type + ", " +
         rows + ")\ngradus.return %y : " + type + "\n}\n}";
}

HostTensor wave(llvm::ArrayRef<int64_t> shape, double height, double step) {
  HostTensor tensor = zeros(shape);
  for (auto [i, number] : llvm::enumerate(tensor.floats))
    number = height * std::sin(step * i);
  return tensor;
}

NamedTensors inputs(bool causal) {
  return {{"m", wave({1, 1, 1, 1300}, 2, 0.3)},
          {"label", wave({1, causal ? 1 : 2, 1300, 4}, 1, 0.7)}};
}

/// The states after two steps.
template <typename Runner> NamedTensors trained(Runner &runner, bool causal) {
  double step = 0.3;
  for (const char *name : {"q", "k", "v"})
    runner.setState(name, wave({1, causal ? 1 : 2, 1300, 4}, 1.5, step += 0.2));
  for (int i = 0; i < 2; ++i)
    runner.run("train", inputs(causal));
  return runner.states();
}

NamedTensors trainedBy(int64_t threads, bool causal) {
  runtime::SessionOptions options;
  options.threads = threads;
  Compiled compiled(program(causal), options);
  return trained(compiled, causal);
}

class LongAttention : public ::testing::TestWithParam<bool> {};

} // namespace

TEST_P(LongAttention, TrainsToTheSameBitsOnAnyNumberOfThreads) {
  NamedTensors one = trainedBy(1, GetParam());
  for (int64_t threads : {2, 5})
    for (auto &[name, state] : trainedBy(threads, GetParam()))
      EXPECT_EQ(state.floats, one.at(name).floats) << name;
}

TEST_P(LongAttention, TrainsAsTheEvaluatorDoes) {
  Evaluated evaluated(program(GetParam()));
  expectNear(trainedBy(2, GetParam()), trained(evaluated, GetParam()), 1e-5,
             1e-5);
}

INSTANTIATE_TEST_SUITE_P(CausalOrMasked, LongAttention, ::testing::Bool());
