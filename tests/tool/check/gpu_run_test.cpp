// Recorded models train on the emulated GPU as on the processor: a few steps
// from one artifact, with the outputs of each step, the gradient of every
// parameter, and all states. The processor's own training is held against
// PyTorch's in check_run_test.cpp. No kernel executes more than a sound one
// would for what it moves and computes.

#include "runtime/session/choose_plan.h"
#include "tests/sanitized.h"
#include "tests/tool/check/named_run.h"
#include "tool/check/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>

extern "C" gradus::compiler::Compiler *gradus_compiler();

namespace gradus::check {
namespace {

constexpr int kSteps = 3;

/// Of the largest element of a tensor: sums have another order there.
constexpr double kTolerance = 1e-4;

/// Where a tensor's elements go further apart when weights move by two units in
/// their last place, so often as this: an activation beside zero turns its
/// sign, and all gradients before it follow.
constexpr uint32_t kShaken = 8;

struct Case {
  std::string name, folder;  // in tests/data/models, or a whole path
  std::string recipe = "{}"; // over the case's own
  std::string libraries = "auto";
};

std::ostream &operator<<(std::ostream &stream, const Case &one) {
  return stream << one.folder << " " << one.recipe << " " << one.libraries;
}

compiler::Request requestOf(const RecordedCase &recorded, const Case &one) {
  std::string file = recorded.files().front();
  Json recipe = Json::parse(
      recorded.recipe(file, recorded.description().at("runs").at(0)));
  Json changes = Json::parse(one.recipe);
  for (const auto &[key, value] : changes.items())
    recipe[key] = value;
  compiler::Request request;
  request.model = recorded.pathOf(file);
  request.recipe.text = recipe.dump();
  request.plan.threads = 2;
  request.plan.targets = {"cpu", "emulated"};
  request.plan.libraries = one.libraries;
  request.wanted.gradientOutputs = one.recipe == "{}";
  return request;
}

/// Values of a step by their names.
using Values = std::map<std::string, std::vector<double>>;

/// Outputs and states of each step, of which the last is timed; copies of
/// states in 16 bits are not looked at.
std::vector<Values> train(Trainer &trainer, const RecordedCase &recorded) {
  Json order = recorded.description().at("runs").at(0).at("batch_order");
  std::vector<Values> steps(kSteps);
  for (int step = 0; step < kSteps; ++step) {
    if (step + 1 == kSteps)
      trainer.timedStep(order.at(step));
    else
      trainer.step(order.at(step));
    for (const runtime::TensorInfo &output : trainer.graph().outputs)
      steps[step]["output " + output.name] = trainer.output(output.name);
    for (const runtime::StateInfo &state : trainer.states())
      if (state.type.dtype != runtime::DType::bf16 &&
          state.type.dtype != runtime::DType::f16)
        steps[step]["state " + state.name] = trainer.state(state.name);
  }
  return steps;
}

double largest(const std::vector<double> &values) {
  double largest = 0;
  for (double value : values)
    largest = std::max(largest, std::fabs(value));
  return largest;
}

/// Equal infinities, and two NaNs, are no way from each other.
double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b)))
    return 0;
  return std::isfinite(a - b) ? std::fabs(a - b) : INFINITY;
}

double distance(const std::vector<double> &a, const std::vector<double> &b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, distance(a[i], b[i]));
  return largest;
}

/// Operations that a kernel executes at most. What it must move allows 50 for
/// each 16 bytes, what it computes 32 for each FLOP: a multiply-add of our own
/// products takes 8 with its loads, one of our convolutions, which finds the
/// place of each element and the edges of the image, up to 60 where few points
/// are shared by lanes; so does a function. Besides, a kernel may execute what
/// 5 multiprocessors do in the 1.2 us of a launch (128 lanes at 2 GHz): threads
/// of small kernels have little to do but to begin and end.
double mostOperations(const runtime::CommandInfo &command) {
  constexpr double kBesides = 1.5e6, kOf16Bytes = 50, kOfFlop = 32;
  return kBesides + kOf16Bytes / 16 * double(command.bytes) +
         kOfFlop * double(command.flops);
}

class GpuTraining : public ::testing::Test {
protected:
  static void SetUpTestSuite() {
    setenv("GRADUS_EMULATED_LIBRARY",
           GRADUS_BINARY_DIR "/lib/libgradus_emulated.so", 1);
    setenv("GRADUS_EMULATED", "operations=1", 1);
  }

  /// How far each value may be from the processor's.
  std::vector<Values> trainOnCpu(Trainer &cpu, const RecordedCase &recorded) {
    std::vector<Values> plain = train(cpu, recorded);
    for (const Values &values : plain) {
      tolerances_.emplace_back();
      for (const auto &[name, value] : values)
        tolerances_.back()[name] = kTolerance * largest(value) + 1e-7;
    }
    for (uint32_t seed = 1; seed <= kShaken; ++seed) {
      cpu.restart(seed);
      std::vector<Values> shaken = train(cpu, recorded);
      for (int step = 0; step < kSteps; ++step)
        for (auto &[name, tolerance] : tolerances_[step])
          tolerance = std::max(
              tolerance, 2 * distance(plain[step][name], shaken[step][name]));
    }
    return plain;
  }

  void compare(std::vector<Values> found, std::vector<Values> expected) {
    for (int step = 0; step < kSteps; ++step)
      for (const auto &[name, value] : expected[step]) {
        ASSERT_EQ(found[step][name].size(), value.size()) << name;
        ASSERT_TRUE(std::isfinite(tolerances_[step][name])) << name;
        EXPECT_LE(distance(found[step][name], value), tolerances_[step][name])
            << name << " of step " << step << ", whose largest is "
            << largest(value);
      }
  }

  /// Checks the operations of the last step, which the emulated GPU counted.
  void expectFewOperations(const Trainer &gpu) {
    const std::vector<runtime::CommandInfo> &commands = gpu.graph().commands;
    for (size_t i = 0; i < commands.size(); ++i)
      EXPECT_LE(double(gpu.times()[i]), mostOperations(commands[i]))
          << "operations of command " << i << " (" << commands[i].name
          << "), which moves " << commands[i].bytes << " bytes and has "
          << commands[i].flops << " FLOPs";
  }

  std::vector<std::map<std::string, double>> tolerances_;
};

class GpuRun : public GpuTraining,
               public ::testing::WithParamInterface<Case> {};

TEST_P(GpuRun, GivesWhatTheProcessorGives) {
  RecordedCase recorded = takeOrThrow(RecordedCase::open(
      std::filesystem::path(GRADUS_SOURCE_DIR "/tests/data/models") /
      GetParam().folder));
  compiler::Result compiled =
      takeOrThrow(gradus_compiler()->compile(requestOf(recorded, GetParam())));
  Trainer cpu(compiled.artifact, recorded, {.threads = 2}),
      gpu(compiled.artifact, recorded, {.device = "emulated"});
  std::vector<Values> expected = trainOnCpu(cpu, recorded);
  compare(train(gpu, recorded), expected);
  expectFewOperations(gpu);
  if (GetParam().name == "overflow") {
    EXPECT_GT(expected.back()["state skipped_steps"].at(0), 0);
  }
}

/// Whether a card's library lacks something that the plan asks for in one call.
bool lacksSome(const compiler::Result &compiled) {
  auto artifact = takeOrThrow(runtime::Artifact::fromBytes(
      {reinterpret_cast<const uint8_t *>(compiled.artifact.data()),
       compiled.artifact.size()},
      "gpt"));
  auto device =
      takeOrThrow(runtime::openDeviceFor(artifact->header(), "emulated"));
  auto plan = takeOrThrow(runtime::choosePlan(artifact->header(), *device));
  auto forms = takeOrThrow(device->forms(*artifact, *plan));
  return std::ranges::any_of(forms, [](const runtime::CallForm &form) {
    return form.form != "whole";
  });
}

/// The bits name biases, gelu, its slopes, its kept input, sums, and all.
TEST_F(GpuTraining, OfAGptNeedsNoEpilogues) {
  SKIP_WHERE_SANITIZED();
  RecordedCase recorded = takeOrThrow(
      RecordedCase::open(GRADUS_SOURCE_DIR "/tests/data/models/gpt2-tiny"));
  compiler::Result compiled = takeOrThrow(gradus_compiler()->compile(
      requestOf(recorded, {"", "gpt2-tiny", "{}", "always"})));
  Trainer cpu(compiled.artifact, recorded, {.threads = 2});
  std::vector<Values> expected = trainOnCpu(cpu, recorded);
  EXPECT_FALSE(lacksSome(compiled));
  for (const char *bits : {"4", "32", "64", "128", "768", "998"}) {
    SCOPED_TRACE(bits);
    setenv("GRADUS_EMULATED", ("no-epilogues=" + std::string(bits)).c_str(), 1);
    EXPECT_TRUE(lacksSome(compiled));
    Trainer gpu(compiled.artifact, recorded, {.device = "emulated"});
    setenv("GRADUS_EMULATED", "operations=1", 1);
    compare(train(gpu, recorded), expected);
  }
}

/// Sanitizers make the emulated GPU much slower, and what they look at is the
/// same code for all models: the smallest do.
bool isTested(const std::string &folder) {
#if GRADUS_SANITIZE
  for (const char *large :
       {"bert-tiny", "gpt2-tiny", "lenet5", "lstm-tiny", "mobilenet_v2",
        "resnet18-small", "resnet50-small", "unet-small"})
    if (folder == large)
      return false;
#endif
  return true;
}

std::vector<Case> smallModels() {
  std::vector<Case> cases;
  for (const auto &folder : smallCases())
    if (isTested(folder.filename()))
      cases.push_back({folder.filename(), folder});
  return cases;
}

const Case kRecipes[] = {
    {"libraries", "gpt2-tiny", "{}", "always"},
    {"convolutions", "lenet5", "{}", "always"},
    {"own", "lenet5", "{}", "never"},
    {"accumulation", "mlp", R"({"accumulation": 2})"},
    {"clipping", "lenet5",
     R"({"clip": {"type": "global_norm", "value": 0.1}})"},
    {"averages", "mlp", R"({"ema": {"decay": 0.9}})"},
    {"schedule", "mlp", R"({"schedule": {"learning_rate": [
        {"type": "linear_warmup", "steps": 2}, {"type": "cosine", "steps": 9}]}})"},
    {"metrics", "lenet5", R"({"metrics": ["accuracy", "top5"]})"},
    {"dropout", "gpt2-tiny", R"({"dropout": 0.2, "seed": 7})"},
    {"overflow", "mlp", R"({"precision": "f16", "loss_scale": {
        "type": "dynamic", "initial": 1e9, "growth_interval": 2}})"},
    {"groups", "mlp", R"({"precision": "f16", "loss_scale": {
        "type": "group", "groups": [["0.*", "3.*"], ["6.*"]],
        "initial": [1e9, 64], "maximum": 1e9}})"},
    {"frozen", "lenet5", R"({"gradient_freeze": {"groups": 2,
        "strategy": [0, 1]}})"},
    {"centralized", "lenet5", R"({"gradient_centralization": true})"},
    {"recomputed", "gpt2-tiny", R"({"memory_limit": "1.2MiB"})"},
    {"bf16", "gpt2-tiny", R"({"precision": "bf16"})"},
    {"f16", "mlp", R"({"precision": "f16"})"},
    {"adamw", "bert-tiny", R"({"optimizer": {"type": "adamw",
        "learning_rate": 0.001}})"},
    {"lamb", "mlp",
     R"({"optimizer": {"type": "lamb", "learning_rate": 0.01}})"},
    {"muon", "mlp",
     R"({"optimizer": {"type": "muon", "learning_rate": 0.01}})"},
};

std::vector<Case> recipes() {
  std::vector<Case> cases;
  for (const Case &one : kRecipes)
    if (isTested(one.folder))
      cases.push_back(one);
  return cases;
}

std::string nameOfCase(const ::testing::TestParamInfo<Case> &info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, GpuRun, ::testing::ValuesIn(smallModels()),
                         nameOfCase);
INSTANTIATE_TEST_SUITE_P(Recipes, GpuRun, ::testing::ValuesIn(recipes()),
                         nameOfCase);

} // namespace
} // namespace gradus::check
