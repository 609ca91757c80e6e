// How far two tensors of one type are apart.

#pragma once

#include "runtime/tensor_type.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace gradus::cli {

struct Deviation {
  /// Of an element, the largest difference in parts of the largest element of
  /// the first tensor; infinite where that is 0 and the other tensor is not.
  double relative = 0;
  size_t nonfinite = 0; // elements of either tensor

  bool isWithin(double tolerance) const {
    return nonfinite == 0 && relative <= tolerance;
  }
  bool isLess(const Deviation &other) const {
    return nonfinite != other.nonfinite ? nonfinite < other.nonfinite
                                        : relative < other.relative;
  }
};

/// Both have as many bytes.
Deviation deviationOf(runtime::DType dtype, std::span<const uint8_t> one,
                      std::span<const uint8_t> other);

} // namespace gradus::cli
