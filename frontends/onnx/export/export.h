// Writes trained weights as an ONNX model: into the file that they came from,
// or with the program that was trained.
#pragma once

#include "ir/gradus.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace gradus {

/// A trained value of an initializer.
struct TrainedTensor {
  std::string name;
  std::string dtype; // "f32"
  std::vector<int64_t> shape;
  std::span<const uint8_t> bytes;
};

struct ExportedOnnx {
  std::string model; // the file's bytes
  std::string data;  // of the data file; empty: all is in the model
  std::vector<std::string> written; // initializers with new values
  std::vector<std::string> kept;    // float initializers that `trained` lacks
  std::vector<std::string> read;    // data files that the model names
  /// Inputs that the caller of the model must normalize.
  std::vector<std::string> wantNormalized;
};

/// The normalization that training applied to an input: (input - mean) / std.
struct InputNormalization {
  std::string input;
  std::vector<float> mean, std; // one for all, or one for each channel
};

struct ExportOptions {
  /// Gives batch normalization and dropout their inference forms. A program's
  /// random masks of known probability become that probability; a file that
  /// draws random numbers is refused.
  bool inference = false;
  /// The normalization in training outside of the model; with
  /// `withNormalization` the exported model does it itself.
  std::vector<InputNormalization> normalizations;
  bool withNormalization = false;
  /// The name of the data file beside a model that is too large for one file.
  std::string dataName;
  /// The sizes for symbolic dimensions of the inputs.
  std::map<std::string, int64_t> dims;
  /// A model with more bytes of weights gets a data file.
  uint64_t largestInside = uint64_t(1) << 30;
};

/// Exports the model at `path`. Names in `trained` that are not initializers
/// (optimizer slots, counters) are left out; a different shape is an error,
/// another floating-point type is converted.
absl::StatusOr<ExportedOnnx>
exportOnnx(const std::string &path, const std::vector<TrainedTensor> &trained,
           const ExportOptions &options = {});

/// Exports the graph @predict of a program. All of its states must be in
/// `trained` or have a value.
absl::StatusOr<ExportedOnnx>
exportProgram(ProgramOp program, const std::vector<TrainedTensor> &trained,
              const ExportOptions &options = {});

} // namespace gradus
