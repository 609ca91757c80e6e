// A recorded training case (tests/data/models/README.md): a folder with a model
// in one or more ONNX files, its data, and the results of training with another
// tool or earlier.
//
// Members throw Refusal, or Json::exception if case.json lacks or mistypes a
// key; checkRun() is the boundary that turns these into messages.

#pragma once

#include "absl/status/statusor.h"
#include "runtime/safetensors.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace gradus::check {

using Json = nlohmann::json;

/// An error that says what is wrong with a case.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The name and layout of a parameter in a model file.
struct Alias {
  std::string initializer;
  std::string relation; // "same", "renamed", "transposed" or "reshaped"
};

class RecordedCase {
public:
  static absl::StatusOr<RecordedCase> open(const std::filesystem::path &folder);

  std::string name() const { return folder_.filename().string(); }
  const std::filesystem::path &folder() const { return folder_; }
  const Json &description() const { return description_; }
  /// The names of its model files.
  std::vector<std::string> files() const;
  /// The entry of a model file in case.json.
  const Json &file(const std::string &name) const;
  std::string pathOf(const std::string &file) const;
  const Json &run(const std::string &id) const;

  /// Sizes of the file's symbolic dimensions, from the recorded inputs.
  std::map<std::string, int64_t> dims(const std::string &file) const;
  /// Translates a run of a file into a Gradus recipe.
  std::string recipe(const std::string &file, const Json &run) const;
  /// Finds a parameter in a file; nothing if the file has it only merged with
  /// others.
  std::optional<Alias> aliasOf(const std::string &file,
                               const std::string &parameter) const;

  /// An input of a graph, or `label`, in a batch.
  const runtime::NamedTensor &input(const std::string &name, int batch) const;
  /// A recorded result, or null.
  const runtime::NamedTensor *expected(const std::string &name) const;

  /// The missing file without which the case cannot run, such as the weights of
  /// a full-size model; empty if all are there.
  std::string missing(const std::string &file) const;

private:
  explicit RecordedCase(std::filesystem::path folder)
      : folder_(std::move(folder)) {}
  std::vector<std::string> trainable(const Json &file) const;

  std::filesystem::path folder_;
  Json description_;
  std::optional<runtime::Safetensors> data_, expected_;
};

/// The folders with a case.json at or below `root`, in order.
std::vector<std::filesystem::path> findCases(const std::filesystem::path &root);

/// Converts a tensor's elements to double.
std::vector<double> toDoubles(const runtime::NamedTensor &tensor);

} // namespace gradus::check
