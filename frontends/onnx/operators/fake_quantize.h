// The gradient of rounding to integers and back: the straight-through
// estimator, as PyTorch's FakeQuantize has it (Bengio et al.,
// https://arxiv.org/abs/1308.3432).
#pragma once

#include "frontends/onnx/importer/building.h"

namespace gradus::onnx {

struct Range {
  double low, high;
};

/// Rounded numbers clipped to a range, as floats. The gradient goes to `source`
/// if the number lies inside the range, otherwise nowhere.
mlir::Value straightThrough(const Building &b, mlir::Value whole,
                            mlir::Value source, Range range);

} // namespace gradus::onnx
