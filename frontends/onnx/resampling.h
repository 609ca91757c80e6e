// Along one axis, every output of a resize is a weighted sum of a few inputs;
// the weights are known when the model is read.
#pragma once

#include "absl/status/statusor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::onnx {

/// The attributes of ONNX Resize that matter along an axis.
struct Resampling {
  std::string mode = "nearest"; // nearest, linear, cubic
  std::string coordinates = "half_pixel";
  std::string nearest = "round_prefer_floor";
  double cubicA = -0.75;
  bool excludeOutside = false, antialias = false;
};

/// Sizes along the axis; `scale` is what was asked for, out / in or nearly so.
struct Resized {
  int64_t in = 1, out = 1;
  double scale = 1;
  double roiStart = 0, roiEnd = 1;
};

/// Refuses attributes of other values than the reference knows.
absl::Status checkKnown(const Resampling &how);

/// `[out, in]` weights, row-major; each row sums to one. An error where they
/// are very many.
absl::StatusOr<std::vector<double>> weightsOf(const Resampling &how,
                                              const Resized &axis);

/// The outputs that a crop takes from outside of the input: they have the value
/// `extrapolation_value`, whatever their weights.
std::vector<int64_t> madeUp(const Resampling &how, const Resized &axis);

} // namespace gradus::onnx
