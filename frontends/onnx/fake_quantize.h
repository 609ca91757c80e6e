// The gradient of rounding to integers and back: the straight-through
// estimator, as PyTorch's FakeQuantize has it (Bengio et al.,
// https://arxiv.org/abs/1308.3432).
#pragma once

#include "frontends/onnx/building.h"

namespace gradus::onnx {

struct Range {
  double low, high;
};

/// Whole numbers cut to a range, as floats, whose gradient goes to `source`
/// where the number lies inside, and nowhere else.
mlir::Value straightThrough(const Building &b, mlir::Value whole,
                            mlir::Value source, Range range);

} // namespace gradus::onnx
