// Weights of ONNX Resize. Along one axis, every output is a weighted sum of a
// few inputs; the weights are known when the model is read.
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

/// Sizes along the axis; `scale` is the requested one, out / in or nearly so.
struct Resized {
  int64_t in = 1, out = 1;
  double scale = 1;
  double roiStart = 0, roiEnd = 1;
};

/// Refuses attribute values that the reference does not know.
absl::Status checkKnown(const Resampling &how);

/// The weights `[out, in]`, row-major; each row sums to one. Fails if there are
/// too many.
absl::StatusOr<std::vector<double>> weightsOf(const Resampling &how,
                                              const Resized &axis);

/// The outputs that a crop reads outside of the input: they get the value
/// `extrapolation_value`, whatever their weights.
std::vector<int64_t> madeUp(const Resampling &how, const Resized &axis);

} // namespace gradus::onnx
