// Programs that compile through gradus.h with the compiler itself.
#pragma once

#include "runtime/compiler_abi.h"
#include "runtime/gradus.h"
#include "runtime/safetensors.h"

#include "tests/this_build.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace gradus::test {

inline constexpr const char *kModel =
    GRADUS_SOURCE_DIR "/docs/examples/digits/lenet.onnx";
inline constexpr const char *kRecipe = R"({
  "inputs": {"dims": {"batch": 8}},
  "loss": {"type": "softmax_cross_entropy", "output": "logits"},
  "metrics": ["accuracy"],
  "optimizer": {"type": "sgd", "learning_rate": 0.1}})";

/// A program as text, which learns a sum of squares.
inline constexpr const char *kText = R"(
gradus.program @squares {
  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, value = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>}
  gradus.graph @train(%coefficient: tensor<3xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<3xf32>
    %square = arith.mulf %w, %w : tensor<3xf32>
    %part = arith.mulf %coefficient, %square : tensor<3xf32>
    %loss = gradus.reduce sum %part axes [0] : tensor<3xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
})";

inline std::string fileText(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline gradus_source sourceOf(const std::string &text,
                              const char *path = nullptr) {
  return {path, text.data(), text.size()};
}

struct CEntry : testing::Test {
  static void SetUpTestSuite() {
    setenv("GRADUS_COMPILER_LIBRARY",
           GRADUS_BINARY_DIR "/lib/libgradus_compiler.so", 1);
    setenv("GRADUS_EMULATED_LIBRARY",
           GRADUS_BINARY_DIR "/lib/libgradus_emulated.so", 1);
  }
  void SetUp() override {
    options.model.path = kModel;
    options.recipe = sourceOf(recipe);
    options.extra = kNoCache;
  }
  void TearDown() override {
    gradus_free(session);
    gradus_compiled_free(result);
  }

  gradus_status compile() {
    gradus_compiled_free(result);
    return gradus_compile(&options, &result);
  }
  std::string artifact() {
    EXPECT_EQ(compile(), GRADUS_OK) << gradus_last_error(nullptr);
    const void *bytes = nullptr;
    size_t size = 0;
    EXPECT_EQ(gradus_compiled_artifact(result, &bytes, &size), GRADUS_OK);
    return std::string(static_cast<const char *>(bytes), size);
  }
  void load(const char *device = "cpu") {
    std::string bytes = artifact();
    gradus_options loading = gradus_default_options();
    loading.device = device;
    ASSERT_EQ(
        gradus_load_memory(bytes.data(), bytes.size(), &loading, &session),
        GRADUS_OK)
        << gradus_last_error(nullptr);
  }
  std::string refusal() {
    EXPECT_EQ(compile(), GRADUS_INVALID);
    return gradus_last_error(nullptr);
  }
  /// The texts of all diagnostics of a severity, each with its place.
  std::vector<std::string> told(gradus_severity severity) {
    std::vector<std::string> texts;
    for (int i = 0; i < gradus_compiled_diagnostic_count(result); ++i) {
      gradus_diagnostic each;
      EXPECT_EQ(gradus_compiled_diagnostic(result, i, &each), GRADUS_OK);
      if (each.severity == severity)
        texts.push_back(std::string(each.place) + "|" + each.text);
    }
    return texts;
  }
  std::vector<float> stateOf(const char *name) {
    gradus_tensor tensor;
    EXPECT_EQ(gradus_state(session, gradus_find_state(session, name), &tensor),
              GRADUS_OK);
    std::vector<float> values(tensor.bytes / sizeof(float));
    EXPECT_EQ(gradus_read_state(session, name, values.data(), tensor.bytes),
              GRADUS_OK);
    return values;
  }
  void step() {
    ASSERT_EQ(gradus_step(session, gradus_find_graph(session, "train"), nullptr,
                          nullptr),
              GRADUS_OK)
        << gradus_last_error(session);
  }

  static constexpr const char *kNoCache[] = {"kernel-cache=off", nullptr};
  std::string recipe = kRecipe;
  gradus_compile_options options = gradus_default_compile_options();
  gradus_compiled *result = nullptr;
  gradus_session *session = nullptr;
};

inline bool contains(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

} // namespace gradus::test
