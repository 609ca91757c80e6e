// The rule of dropout: an element's 32 random bits are compared with a limit,
// and elements that stay are scaled up.
#pragma once

#include "ir/philox.h"

namespace gradus {

/// Dropout layers draw from streams below this number; models' own random ops
/// draw from streams that start at it.
inline constexpr int64_t kDropoutStreams = int64_t(1) << 24;

struct Dropping {
  double ratio;

  /// An element is dropped if its bits are below this limit.
  int64_t limit() const {
    return static_cast<int64_t>(std::round(ratio * 0x1p32));
  }
  /// The factor for elements that stay.
  double factor() const { return ratio < 1 ? 1 / (1 - ratio) : 0; }
};

} // namespace gradus
