// The difference between two tensors of one type.

#pragma once

#include "runtime/tensor_type.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace gradus::cli {

struct Deviation {
  /// The largest difference of an element, divided by the largest element of
  /// the first tensor; infinite if that is 0 and the other tensor is not.
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

/// Compares two tensors of the same number of bytes.
Deviation deviationOf(runtime::DType dtype, std::span<const uint8_t> one,
                      std::span<const uint8_t> other);

} // namespace gradus::cli
