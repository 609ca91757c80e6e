// Steps whose products, convolutions and attention are all a library's train on
// the emulated GPU as on the processor, where our own kernels do them:
// gradients and layouts are those that the plan says, whoever computes them.

#include "frontends/compiler/compiler.h"
#include "runtime/session/session.h"
#include "tests/this_build.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

extern "C" gradus::compiler::Compiler *gradus_compiler();

namespace gradus {
namespace {

/// A block of a transformer, 4 heads of 8 numbers, and a loss of its output.
const char kAttention[] = R"(
gradus.program @block {
  gradus.state @qkv : tensor<32x96xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @bias : tensor<96xf32> {role = #gradus.role<parameter>, init = #gradus.init<uniform, 0.3 : f64>}
  gradus.state @out : tensor<32x32xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.graph @predict(%x: tensor<2x40x32xf32>) -> (y: tensor<2x40x32xf32>) {
    %qkv = gradus.read @qkv : tensor<32x96xf32>
    %bias = gradus.read @bias : tensor<96xf32>
    %out = gradus.read @out : tensor<32x32xf32>
    %r = gradus.reshape %x : tensor<2x40x32xf32> -> tensor<80x32xf32>
    %p = gradus.matmul %r, %qkv : tensor<80x32xf32>, tensor<32x96xf32> -> tensor<80x96xf32>
    %b = gradus.broadcast %bias dims [1] : tensor<96xf32> -> tensor<80x96xf32>
    %s = arith.addf %p, %b : tensor<80x96xf32>
    %h = gradus.reshape %s : tensor<80x96xf32> -> tensor<2x40x3x4x8xf32>
    %t = gradus.transpose %h perm [2, 0, 3, 1, 4] : tensor<2x40x3x4x8xf32> -> tensor<3x2x4x40x8xf32>
    %q1 = gradus.slice %t starts [0, 0, 0, 0, 0] steps [1, 1, 1, 1, 1] : tensor<3x2x4x40x8xf32> -> tensor<1x2x4x40x8xf32>
    %k1 = gradus.slice %t starts [1, 0, 0, 0, 0] steps [1, 1, 1, 1, 1] : tensor<3x2x4x40x8xf32> -> tensor<1x2x4x40x8xf32>
    %v1 = gradus.slice %t starts [2, 0, 0, 0, 0] steps [1, 1, 1, 1, 1] : tensor<3x2x4x40x8xf32> -> tensor<1x2x4x40x8xf32>
    %q = gradus.reshape %q1 : tensor<1x2x4x40x8xf32> -> tensor<2x4x40x8xf32>
    %k = gradus.reshape %k1 : tensor<1x2x4x40x8xf32> -> tensor<2x4x40x8xf32>
    %v = gradus.reshape %v1 : tensor<1x2x4x40x8xf32> -> tensor<2x4x40x8xf32>
    %a, %l:2 = gradus.attention %q, %k, %v causal {scale = 0.35 : f64} : (tensor<2x4x40x8xf32>, tensor<2x4x40x8xf32>, tensor<2x4x40x8xf32>) -> (tensor<2x4x40x8xf32>, tensor<2x4x40xf32>, tensor<2x4x40xf32>)
    %at = gradus.transpose %a perm [0, 2, 1, 3] : tensor<2x4x40x8xf32> -> tensor<2x40x4x8xf32>
    %ar = gradus.reshape %at : tensor<2x40x4x8xf32> -> tensor<80x32xf32>
    %o = gradus.matmul %ar, %out : tensor<80x32xf32>, tensor<32x32xf32> -> tensor<80x32xf32>
    %y = gradus.reshape %o : tensor<80x32xf32> -> tensor<2x40x32xf32>
    gradus.return %y : tensor<2x40x32xf32>
  }
})";

/// Two convolutions, one of them in groups, with a residual between.
const char kConvolutions[] = R"(
gradus.program @images {
  gradus.state @first : tensor<8x3x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @second : tensor<8x8x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @grouped : tensor<8x4x1x1xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.graph @predict(%x: tensor<2x3x10x10xf32>) -> (y: tensor<2x8x5x5xf32>) {
    %first = gradus.read @first : tensor<8x3x3x3xf32>
    %second = gradus.read @second : tensor<8x8x3x3xf32>
    %grouped = gradus.read @grouped : tensor<8x4x1x1xf32>
    %0 = gradus.convolution %x, %first strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x3x10x10xf32>, tensor<8x3x3x3xf32> -> tensor<2x8x5x5xf32>
    %1 = gradus.relu %0 : tensor<2x8x5x5xf32>
    %2 = gradus.convolution %1, %second strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x8x5x5xf32>, tensor<8x8x3x3xf32> -> tensor<2x8x5x5xf32>
    %3 = arith.addf %2, %1 : tensor<2x8x5x5xf32>
    %y = gradus.convolution %3, %grouped strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] groups 2 : tensor<2x8x5x5xf32>, tensor<8x4x1x1xf32> -> tensor<2x8x5x5xf32>
    gradus.return %y : tensor<2x8x5x5xf32>
  }
})";

/// Two layers with gelu between, in rows of two dimensions.
const char kLayers[] = R"(
gradus.program @layers {
  gradus.state @up : tensor<32x64xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @bias : tensor<64xf32> {role = #gradus.role<parameter>, init = #gradus.init<uniform, 0.3 : f64>}
  gradus.state @down : tensor<32x64xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @other : tensor<32xf32> {role = #gradus.role<parameter>, init = #gradus.init<uniform, 0.3 : f64>}
  gradus.graph @predict(%x: tensor<2x40x32xf32>) -> (y: tensor<2x40x32xf32>) {
    %up = gradus.read @up : tensor<32x64xf32>
    %bias = gradus.read @bias : tensor<64xf32>
    %down = gradus.read @down : tensor<32x64xf32>
    %other = gradus.read @other : tensor<32xf32>
    %r = gradus.reshape %x : tensor<2x40x32xf32> -> tensor<80x32xf32>
    %p = gradus.matmul %r, %up : tensor<80x32xf32>, tensor<32x64xf32> -> tensor<80x64xf32>
    %b = gradus.broadcast %bias dims [1] : tensor<64xf32> -> tensor<80x64xf32>
    %s = arith.addf %p, %b : tensor<80x64xf32>
    %h = gradus.reshape %s : tensor<80x64xf32> -> tensor<2x40x64xf32>
    %g = gradus.gelu %h tanh : tensor<2x40x64xf32>
    %a = gradus.reshape %g : tensor<2x40x64xf32> -> tensor<80x64xf32>
    %q = gradus.matmul %a, %down transposed : tensor<80x64xf32>, tensor<32x64xf32> -> tensor<80x32xf32>
    %c = gradus.broadcast %other dims [1] : tensor<32xf32> -> tensor<80x32xf32>
    %o = arith.addf %q, %c : tensor<80x32xf32>
    %y = gradus.reshape %o : tensor<80x32xf32> -> tensor<2x40x32xf32>
    gradus.return %y : tensor<2x40x32xf32>
  }
})";

struct Case {
  std::string name;
  const char *program;
  std::string precision;
  /// Of a tensor's largest element. In 16 bits cards round what our kernels do
  /// not: probabilities, results of attention, gradients of weights.
  double tolerance;
  std::map<std::string, int> calls; // of a step on the card
};

std::ostream &operator<<(std::ostream &stream, const Case &one) {
  return stream << one.name;
}

class GpuLibraries : public ::testing::TestWithParam<Case> {
protected:
  static void SetUpTestSuite() {
    setenv("GRADUS_EMULATED_LIBRARY",
           GRADUS_BINARY_DIR "/lib/libgradus_emulated.so", 1);
  }

  std::shared_ptr<const runtime::Artifact> compile() {
    auto path = std::filesystem::path(::testing::TempDir()) /
                (GetParam().name + ".mlir");
    std::ofstream(path) << GetParam().program;
    compiler::Request request;
    request.model = path;
    request.recipe.text = R"({"loss": "mse", "optimizer": {"type": "sgd",
        "learning_rate": 0.5, "momentum": 0.9}, "precision": ")" +
                          GetParam().precision + "\"}";
    request.plan.targets = {"cpu", "emulated"};
    request.plan.libraries = "always";
    request.plan.threads = 1;
    request.wanted.gradientOutputs = true;
    auto result = gradus_compiler()->compile(request);
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok())
      return nullptr;
    auto artifact = runtime::Artifact::fromBytes(
        {reinterpret_cast<const uint8_t *>(result->artifact.data()),
         result->artifact.size()},
        GetParam().name);
    EXPECT_TRUE(artifact.ok()) << artifact.status();
    return artifact.ok() ? *artifact : nullptr;
  }

  /// Of graph `train` of the plan for cards.
  static std::map<std::string, int> callsOf(const runtime::Artifact &artifact) {
    std::map<std::string, int> calls;
    for (const artifact::Plan *plan : *artifact.header().plans())
      for (const artifact::GraphPlan *graph : *plan->graphs())
        if (plan->target()->str() == "cuda" &&
            artifact.header().graphs()->Get(graph->graph())->name()->str() ==
                "train")
          for (const artifact::Command *command : *graph->commands())
            if (command->kind_as_LibraryCommand())
              ++calls[command->name()->str()];
    return calls;
  }
};

using Steps = std::vector<std::map<std::string, std::vector<float>>>;

/// All outputs of three steps.
Steps train(std::shared_ptr<const runtime::Artifact> artifact,
            const std::string &device) {
  runtime::SessionOptions options;
  options.device = device;
  auto session = runtime::Session::create(artifact, options);
  EXPECT_TRUE(session.ok()) << session.status();
  Steps steps;
  if (!session.ok())
    return steps;
  int graph = (*session)->findGraph("train");
  const runtime::GraphInfo &info = (*session)->graphs()[graph];
  for (int step = 0; step < 3; ++step) {
    std::vector<std::vector<float>> in, out;
    for (const runtime::TensorInfo &input : info.inputs) {
      in.emplace_back(input.bytes / sizeof(float));
      for (size_t i = 0; i < in.back().size(); ++i)
        in.back()[i] = float(std::sin(double(i * 7 + 3 * step + in.size())));
    }
    for (const runtime::TensorInfo &output : info.outputs)
      out.emplace_back(output.bytes / sizeof(float));
    std::vector<const void *> inputs;
    std::vector<void *> outputs;
    for (auto &each : in)
      inputs.push_back(each.data());
    for (auto &each : out)
      outputs.push_back(each.data());
    runtime::Status status = (*session)->step(graph, inputs, outputs);
    EXPECT_TRUE(status.ok()) << status;
    steps.emplace_back();
    for (size_t i = 0; i < out.size(); ++i)
      steps.back()[info.outputs[i].name] = out[i];
  }
  return steps;
}

/// How far apart two runs are, of a tensor's largest element.
void compare(Steps found, const Steps &expected, double tolerance) {
  ASSERT_EQ(found.size(), 3u);
  ASSERT_GT(expected.front().size(), 3u) << "a loss and gradients";
  for (size_t step = 0; step < found.size(); ++step)
    for (const auto &[name, values] : expected[step]) {
      double largest = 0, furthest = 0;
      const std::vector<float> &others = found[step][name];
      ASSERT_EQ(others.size(), values.size()) << name;
      for (size_t i = 0; i < values.size(); ++i) {
        largest = std::max(largest, std::fabs(double(values[i])));
        furthest = std::max(furthest, std::fabs(double(values[i]) - others[i]));
      }
      EXPECT_GT(largest, 0) << name;
      EXPECT_LE(furthest, tolerance * largest) << name << " of step " << step;
    }
}

TEST_P(GpuLibraries, GiveWhatOurKernelsGive) {
  auto artifact = compile();
  ASSERT_TRUE(artifact);
  EXPECT_EQ(callsOf(*artifact), GetParam().calls);
  compare(train(artifact, "emulated"), train(artifact, "cpu"),
          GetParam().tolerance);
}

/// As a card is whose library has no algorithms with epilogues of these bits.
struct Lacking {
  explicit Lacking(const std::string &bits) {
    setenv("GRADUS_EMULATED", ("no-epilogues=" + bits).c_str(), 1);
  }
  ~Lacking() { unsetenv("GRADUS_EMULATED"); }
};

class GpuEpilogues : public GpuLibraries {};

/// A bias is rounded once, with its product, whoever adds it: the bits are the
/// same. GELU and its slopes are of other polynomials there.
TEST_P(GpuEpilogues, AreNotNeeded) {
  auto artifact = compile();
  ASSERT_TRUE(artifact);
  bool hasGelu = GetParam().calls.contains("matmul+bias+gelu_tanh");
  Steps whole = train(artifact, "emulated");
  for (const char *bits : {"4", "32", "64", "128", "768", "996"}) {
    SCOPED_TRACE(bits);
    Lacking lacking(bits);
    bool isExact = !hasGelu && std::string(bits) == "4";
    compare(train(artifact, "emulated"), whole,
            isExact ? 0 : GetParam().tolerance);
  }
}

const std::map<std::string, int> kConvolutionCalls = {
    {"convolution", 3},
    {"convolution_backward_data", 2},
    {"convolution_backward_weights", 3}};

const Case kProducts[] = {
    Case{"attention_f32",
         kAttention,
         "f32",
         1e-4,
         {{"matmul", 3}, {"matmul+bias", 1}, {"matmul+sum", 1}}},
    Case{"attention_bf16",
         kAttention,
         "bf16",
         0.03,
         {{"matmul", 3},
          {"matmul+bias", 1},
          {"matmul+sum", 1},
          {"attention", 1},
          {"attention_backward", 1}}},
    Case{"layers_f32",
         kLayers,
         "f32",
         1e-4,
         {{"matmul+bias", 1},
          {"matmul+bias+gelu_tanh", 1},
          {"matmul+gelu_tanh_gradient", 1},
          {"matmul+sum", 2}}},
    // The last bias's gradient is the sum of what is not rounded yet.
    Case{"layers_bf16",
         kLayers,
         "bf16",
         0.03,
         {{"matmul", 1},
          {"matmul+bias", 1},
          {"matmul+bias+gelu_tanh", 1},
          {"matmul+gelu_tanh_gradient", 1},
          {"matmul+sum", 1}}}};

const Case kConvolutionCases[] = {
    Case{"convolutions_f32", kConvolutions, "f32", 1e-4, kConvolutionCalls},
    Case{"convolutions_bf16", kConvolutions, "bf16", 0.03, kConvolutionCalls}};

std::string nameOf(const ::testing::TestParamInfo<Case> &info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Products, GpuLibraries, ::testing::ValuesIn(kProducts),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Convolutions, GpuLibraries,
                         ::testing::ValuesIn(kConvolutionCases), nameOf);
INSTANTIATE_TEST_SUITE_P(Products, GpuEpilogues, ::testing::ValuesIn(kProducts),
                         nameOf);

} // namespace
} // namespace gradus
