// Compares element by element, in doubles.

#include "tool/compare/deviation.h"

#include "training/number_at.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradus::cli {

Deviation deviationOf(runtime::DType dtype, std::span<const uint8_t> one,
                      std::span<const uint8_t> other) {
  Deviation result;
  double largest = 0, apart = 0;
  for (size_t i = 0; i < one.size() / runtime::bytesOf(dtype); ++i) {
    double x = training::numberAt(dtype, one.data(), i),
           y = training::numberAt(dtype, other.data(), i);
    if (!std::isfinite(x) || !std::isfinite(y)) {
      ++result.nonfinite;
      continue;
    }
    largest = std::max(largest, std::abs(x));
    apart = std::max(apart, std::abs(x - y));
  }
  if (apart > 0)
    result.relative =
        largest > 0 ? apart / largest : std::numeric_limits<double>::infinity();
  return result;
}

} // namespace gradus::cli
