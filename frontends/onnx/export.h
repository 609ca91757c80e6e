// Trained weights back into the ONNX file that they came from.
#pragma once

#include "absl/status/statusor.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace gradus {

/// A trained value of an initializer, by its name.
struct TrainedTensor {
  std::string name;
  std::string dtype; // "f32"
  std::vector<int64_t> shape;
  std::span<const uint8_t> bytes;
};

struct ExportedOnnx {
  std::string model; // the file's bytes
  std::string data;  // of the data file beside it; empty: everything is inside
  std::vector<std::string> written; // initializers with new values
  std::vector<std::string> kept;    // float initializers that `trained` lacks
  std::vector<std::string> read;    // data files that the model names
  /// Inputs that the model wants normalized by whoever runs it.
  std::vector<std::string> wantNormalized;
  int addedCoins = 0; // coins with a number added (makeCoinsIdle)
};

/// What training did to an input before the model: (input - mean) / std.
struct InputNormalization {
  std::string input;
  std::vector<float> mean, std; // one for all, or one a channel
};

struct ExportOptions {
  /// Batch normalization and dropout of a file exported for training become
  /// those of inference, and coins of a known chance that chance.
  bool inference = false;
  /// What training did outside of the model, and whether the model is to do it
  /// itself from now on.
  std::vector<InputNormalization> normalizations;
  bool withNormalization = false;
  /// The name of the data file beside the model, for models too large for one.
  std::string dataName;
  /// Sizes that symbolic dimensions of the inputs get.
  std::map<std::string, int64_t> dims;
  /// A model with more bytes of weights gets a data file.
  uint64_t largestInside = uint64_t(1) << 30;
};

/// Names in `trained` that are no initializers (optimizer slots, counters) are
/// left out; a shape that differs is an error, another floating-point type is
/// converted.
absl::StatusOr<ExportedOnnx>
exportOnnx(const std::string &path, const std::vector<TrainedTensor> &trained,
           const ExportOptions &options = {});

} // namespace gradus
