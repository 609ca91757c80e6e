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

/// `[out, in]` weights, row-major; each row sums to one. An error where an
/// attribute is not known, or an output lies outside of the input and would be
/// made up.
absl::StatusOr<std::vector<double>> weightsOf(const Resampling &how,
                                              const Resized &axis);

} // namespace gradus::onnx
