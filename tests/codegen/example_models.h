// Small models with recipes, for tests of passes that take whole steps.
#pragma once

#include <string>

namespace gradus::testing {

inline std::string state(const std::string &name, const std::string &type) {
  return "gradus.state @" + name + " : " + type +
         " {role = #gradus.role<parameter>, init = #gradus.init<zeros>}\n";
}

inline std::string read(const std::string &name, const std::string &type) {
  return "%" + name + " = gradus.read @" + name + " : " + type + "\n";
}

inline std::string recipe(const std::string &optimizer,
                          const std::string &loss) {
  return " attributes {recipe = {optimizer = {" + optimizer + "}, loss = {" +
         loss + "}}} {\n";
}

const std::string sgd =
    "type = \"sgd\", learning_rate = 1.0e-1, momentum = 9.0e-1";
const std::string adamw =
    "type = \"adamw\", learning_rate = 1.0e-3, betas = [9.0e-1, 9.99e-1], "
    "epsilon = 1.0e-8, weight_decay = 1.0e-2";
const std::string crossEntropy = "type = \"softmax_cross_entropy\", output = "
                                 "\"logits\", class_axis = 1 : i64";

/// Two dense layers with a relu between them.
inline std::string mlp(const std::string &optimizer) {
  return "gradus.program @mlp" + recipe(optimizer, crossEntropy) +
         state("w1", "tensor<8x6xf32>") + state("b1", "tensor<8xf32>") +
         state("w2", "tensor<4x8xf32>") + state("b2", "tensor<4xf32>") +
         "gradus.graph @predict(%x: tensor<5x6xf32>) -> (logits: "
         "tensor<5x4xf32>) {\n" +
         read("w1", "tensor<8x6xf32>") + read("b1", "tensor<8xf32>") +
         read("w2", "tensor<4x8xf32>") + read("b2", "tensor<4xf32>") + R"(
  %0 = gradus.matmul %x, %w1 transposed : tensor<5x6xf32>, tensor<8x6xf32> -> tensor<5x8xf32>
  %1 = gradus.broadcast %b1 dims [1] : tensor<8xf32> -> tensor<5x8xf32>
  %2 = arith.addf %0, %1 : tensor<5x8xf32>
  %3 = gradus.relu %2 : tensor<5x8xf32>
  %4 = gradus.matmul %3, %w2 transposed : tensor<5x8xf32>, tensor<4x8xf32> -> tensor<5x4xf32>
  %5 = gradus.broadcast %b2 dims [1] : tensor<4xf32> -> tensor<5x4xf32>
  %6 = arith.addf %4, %5 : tensor<5x4xf32>
  gradus.return %6 : tensor<5x4xf32>
}
}
)";
}

/// Convolution, tanh, max pooling; convolution, average pooling; dense.
inline std::string lenet(const std::string &optimizer) {
  return "gradus.program @lenet" + recipe(optimizer, crossEntropy) +
         state("w1", "tensor<3x1x3x3xf32>") + state("b1", "tensor<3xf32>") +
         state("w2", "tensor<4x3x3x3xf32>") + state("w3", "tensor<4x16xf32>") +
         state("b3", "tensor<4xf32>") +
         "gradus.graph @predict(%x: tensor<2x1x8x8xf32>) -> (logits: "
         "tensor<2x4xf32>) {\n" +
         read("w1", "tensor<3x1x3x3xf32>") + read("b1", "tensor<3xf32>") +
         read("w2", "tensor<4x3x3x3xf32>") + read("w3", "tensor<4x16xf32>") +
         read("b3", "tensor<4xf32>") + R"(
  %0 = gradus.convolution %x, %w1 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x1x8x8xf32>, tensor<3x1x3x3xf32> -> tensor<2x3x8x8xf32>
  %1 = gradus.broadcast %b1 dims [1] : tensor<3xf32> -> tensor<2x3x8x8xf32>
  %2 = arith.addf %0, %1 : tensor<2x3x8x8xf32>
  %3 = math.tanh %2 : tensor<2x3x8x8xf32>
  %4, %i = gradus.max_pool %3 window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x3x8x8xf32> -> tensor<2x3x4x4xf32>, tensor<2x3x4x4xi32>
  %5 = gradus.convolution %4, %w2 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<2x3x4x4xf32>, tensor<4x3x3x3xf32> -> tensor<2x4x4x4xf32>
  %6 = gradus.average_pool %5 window [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x4x4x4xf32> -> tensor<2x4x2x2xf32>
  %7 = gradus.reshape %6 : tensor<2x4x2x2xf32> -> tensor<2x16xf32>
  %8 = gradus.matmul %7, %w3 transposed : tensor<2x16xf32>, tensor<4x16xf32> -> tensor<2x4xf32>
  %9 = gradus.broadcast %b3 dims [1] : tensor<4xf32> -> tensor<2x4xf32>
  %10 = arith.addf %8, %9 : tensor<2x4xf32>
  gradus.return %10 : tensor<2x4xf32>
}
}
)";
}

} // namespace gradus::testing
