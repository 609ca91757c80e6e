// Programs that ranks train together; see programs.h.

#include "programs.h"

#include "ir/philox.h"

using namespace gradus;

const char *const gradus::kDense = R"(
gradus.program @dense attributes {recipe = {RECIPE}} {
  gradus.state @v : tensor<16x12xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @a : tensor<16xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<10x16xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @b : tensor<10xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<SAMPLESx12xf32>) -> (logits: tensor<SAMPLESx10xf32>) {
    %v = gradus.read @v : tensor<16x12xf32>
    %a = gradus.read @a : tensor<16xf32>
    %w = gradus.read @w : tensor<10x16xf32>
    %b = gradus.read @b : tensor<10xf32>
    %0 = gradus.matmul %x, %v transposed : tensor<SAMPLESx12xf32>, tensor<16x12xf32> -> tensor<SAMPLESx16xf32>
    %1 = gradus.broadcast %a dims [1] : tensor<16xf32> -> tensor<SAMPLESx16xf32>
    %2 = arith.addf %0, %1 : tensor<SAMPLESx16xf32>
    %3 = gradus.relu %2 : tensor<SAMPLESx16xf32>
    %4 = gradus.dropout %3 ratio 0.25 : tensor<SAMPLESx16xf32>
    %5 = gradus.matmul %4, %w transposed : tensor<SAMPLESx16xf32>, tensor<10x16xf32> -> tensor<SAMPLESx10xf32>
    %6 = gradus.broadcast %b dims [1] : tensor<10xf32> -> tensor<SAMPLESx10xf32>
    %7 = arith.addf %5, %6 : tensor<SAMPLESx10xf32>
    gradus.return %7 : tensor<SAMPLESx10xf32>
  }
})";

const char *const gradus::kNormalized = R"(
gradus.program @normalized attributes {recipe = {RECIPE}} {
  gradus.state @v : tensor<4x3x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @scale : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @bias : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @mean : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @variance : tensor<4xf32> {role = #gradus.role<buffer>, init = #gradus.init<constant, 1.0 : f64>}
  gradus.state @w : tensor<10x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.graph @predict(%x: tensor<SAMPLESx3x6x6xf32>) -> (logits: tensor<SAMPLESx10xf32>) {
    %v = gradus.read @v : tensor<4x3x3x3xf32>
    %scale = gradus.read @scale : tensor<4xf32>
    %bias = gradus.read @bias : tensor<4xf32>
    %mean = gradus.read @mean : tensor<4xf32>
    %variance = gradus.read @variance : tensor<4xf32>
    %w = gradus.read @w : tensor<10x4xf32>
    %0 = gradus.convolution %x, %v strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<SAMPLESx3x6x6xf32>, tensor<4x3x3x3xf32> -> tensor<SAMPLESx4x6x6xf32>
    %1 = gradus.batch_norm %0, %scale, %bias mean %mean variance %variance epsilon 1.0e-5 momentum 0.9 : tensor<SAMPLESx4x6x6xf32>, tensor<4xf32>
    %2 = gradus.relu %1 : tensor<SAMPLESx4x6x6xf32>
    %3 = gradus.reduce mean %2 axes [2, 3] : tensor<SAMPLESx4x6x6xf32> -> tensor<SAMPLESx4xf32>
    %4 = gradus.matmul %3, %w transposed : tensor<SAMPLESx4xf32>, tensor<10x4xf32> -> tensor<SAMPLESx10xf32>
    gradus.return %4 : tensor<SAMPLESx10xf32>
  }
})";

const char *const gradus::kAttending = R"(
gradus.program @attending attributes {recipe = {RECIPE}} {
  gradus.state @q : tensor<2x6x8xf32> {role = #gradus.role<parameter>, init = #gradus.init<uniform, 0.5 : f64>}
  gradus.state @k : tensor<2x6x8xf32> {role = #gradus.role<parameter>, init = #gradus.init<uniform, 0.5 : f64>}
  gradus.state @w : tensor<10x16xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.graph @predict(%x: tensor<SAMPLESx2x6x8xf32>) -> (logits: tensor<SAMPLESx10xf32>) {
    %q = gradus.read @q : tensor<2x6x8xf32>
    %k = gradus.read @k : tensor<2x6x8xf32>
    %w = gradus.read @w : tensor<10x16xf32>
    %qs = gradus.broadcast %q dims [1, 2, 3] : tensor<2x6x8xf32> -> tensor<SAMPLESx2x6x8xf32>
    %ks = gradus.broadcast %k dims [1, 2, 3] : tensor<2x6x8xf32> -> tensor<SAMPLESx2x6x8xf32>
    %0 = arith.mulf %x, %qs : tensor<SAMPLESx2x6x8xf32>
    %1 = arith.mulf %x, %ks : tensor<SAMPLESx2x6x8xf32>
    %2 = gradus.matmul %0, %1 transposed : tensor<SAMPLESx2x6x8xf32>, tensor<SAMPLESx2x6x8xf32> -> tensor<SAMPLESx2x6x6xf32>
    %3 = gradus.softmax %2 axis 3 : tensor<SAMPLESx2x6x6xf32>
    %4 = gradus.dropout %3 ratio 0.3 : tensor<SAMPLESx2x6x6xf32>
    %5 = gradus.matmul %4, %1 : tensor<SAMPLESx2x6x6xf32>, tensor<SAMPLESx2x6x8xf32> -> tensor<SAMPLESx2x6x8xf32>
    %6 = gradus.reduce mean %5 axes [2] : tensor<SAMPLESx2x6x8xf32> -> tensor<SAMPLESx2x8xf32>
    %7 = gradus.reshape %6 : tensor<SAMPLESx2x8xf32> -> tensor<SAMPLESx16xf32>
    %8 = gradus.matmul %7, %w transposed : tensor<SAMPLESx16xf32>, tensor<10x16xf32> -> tensor<SAMPLESx10xf32>
    gradus.return %8 : tensor<SAMPLESx10xf32>
  }
})";

std::string gradus::filled(std::string program, int64_t samples,
                           const std::string &recipe) {
  std::string all = recipe;
  if (recipe.find("optimizer = ") == std::string::npos)
    all +=
        ", optimizer = {type = \"sgd\", learning_rate = 0.1, momentum = 0.9}";
  for (auto [name, value] :
       {std::pair<std::string, std::string>{"SAMPLES", std::to_string(samples)},
        {"RECIPE", all}})
    for (size_t at; (at = program.find(name)) != std::string::npos;)
      program.replace(at, name.size(), value);
  return program;
}

std::string gradus::onRanks(const char *program, const std::string &recipe,
                            const std::string &distribution) {
  return filled(program, kSamples,
                recipe + ", distribution = {mode = \"data_parallel\"" +
                    distribution + "}");
}

NamedTensors gradus::batchOf(Compiled &compiled, int step, int ranks) {
  NamedTensors batch;
  runtime::Session &session = compiled.session();
  uint64_t seed = 100 * static_cast<uint64_t>(step);
  for (const auto &input :
       session.graphs()[session.findGraph("train")].inputs) {
    std::vector<int64_t> shape = input.type.shape;
    shape.front() *= ranks;
    HostTensor tensor =
        zeros(shape, /*isFloat=*/input.type.dtype == runtime::DType::f32);
    Philox stream(seed++, "batch");
    for (int64_t i = 0; i < tensor.size(); ++i)
      if (tensor.isFloat)
        tensor.floats[i] = static_cast<float>(stream.uniform(i) * 2 - 1);
      else
        tensor.integers[i] = static_cast<int64_t>(stream.uniform(i) * kClasses);
    batch[input.name] = std::move(tensor);
  }
  return batch;
}
