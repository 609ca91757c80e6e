// One pass over a column before the first step, and one error.

#include "training/data/f32_range.h"

#include "runtime/status.h"
#include "training/data/guarded_read.h"

#include <cmath>
#include <cstdio>
#include <cstring>

using namespace gradus::runtime;

namespace gradus::data {

runtime::Status checkF32Range(const Column &column) {
  int64_t samples = column.type.shape[0], found = -1;
  size_t each = column.bytes.size() / sizeof(double) / samples;
  double value = 0;
  GRADUS_TRY(readSamples(column.name, samples, [&](int64_t sample) {
    for (size_t i = sample * each; i < (sample + 1) * each; ++i) {
      std::memcpy(&value, column.bytes.data() + i * sizeof(double),
                  sizeof(double));
      if (std::isfinite(value) && std::isinf(static_cast<float>(value))) {
        found = sample;
        return false;
      }
    }
    return true;
  }));
  if (found < 0)
    return runtime::Status();
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return invalid("tensor '", column.name, "': sample ", found, " has ", text,
                 ", which lies beyond the range of f32, to which f64 is "
                 "converted");
}

} // namespace gradus::data
