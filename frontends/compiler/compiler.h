// From a model file to an artifact, as one interface of plain types: what
// libgradus_compiler.so offers to the tool, which opens it only when needed.

#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::compiler {

/// Which model, and how it becomes a training step.
struct Request {
  std::string model;                  // .onnx or .mlir
  std::string recipe;                 // a JSON file; empty: the defaults
  std::vector<std::string> overrides; // `key=value` over the recipe's
  std::vector<std::string> dims;      // `batch=32` over the recipe's inputs.dims
  std::string weights;                // .safetensors over the model's initializers
  std::vector<std::string> targets;   // "cpu", "cpu:x86-64-v3"; empty: this machine
  std::string stopAfter;              // a stage; empty: all, to an artifact
  int threads = 0;                    // logical threads of the plan; 0: one per core
  bool report = false;                // what each stage did, in Result::report
};

struct Result {
  std::string artifact;                // the file's bytes, unless stopped before
  std::string ir;                      // where it stopped, as text
  std::string report;                  // of --report
  std::vector<std::string> warnings;
};

/// One op of a model.
struct OpCount {
  std::string name;
  int64_t count = 0;
  int64_t flops = 0;
};

struct ModelInfo {
  std::vector<std::string> inputs, outputs; // "image f32 32x1x28x28"
  std::vector<OpCount> ops;
  int64_t parameters = 0;   // elements
  int64_t parameterCount = 0;
  int64_t flops = 0;        // of one forward pass
  std::vector<std::string> unsupported; // what cannot be compiled, and where
};

class Compiler {
public:
  virtual ~Compiler() = default;
  virtual absl::StatusOr<Result> compile(const Request &request) = 0;
  virtual absl::StatusOr<ModelInfo> inspect(const Request &request) = 0;
  virtual std::string recipeSchema() = 0;
  /// The recipe as JSON with all defaults.
  virtual absl::StatusOr<std::string>
  readRecipe(const std::string &path, const std::vector<std::string> &overrides) = 0;
  /// Names for Request::stopAfter, in order.
  virtual std::vector<std::string> stages() = 0;
};

/// The library's one function.
using Entry = Compiler *();
inline constexpr const char *kEntry = "gradus_compiler";

} // namespace gradus::compiler
