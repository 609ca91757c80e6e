// How dropout decides: an element's 32 random bits against a limit, and what
// becomes of those that stay.
#pragma once

#include "ir/philox.h"

namespace gradus {

/// Dropouts draw from streams below this number; what models draw by
/// themselves, from streams that count from it.
inline constexpr int64_t kDropoutStreams = int64_t(1) << 24;

struct Dropping {
  double ratio;

  /// Bits less than this drop their element.
  int64_t limit() const {
    return static_cast<int64_t>(std::round(ratio * 0x1p32));
  }
  /// What elements that stay are multiplied by.
  double factor() const { return ratio < 1 ? 1 / (1 - ratio) : 0; }
};

} // namespace gradus
