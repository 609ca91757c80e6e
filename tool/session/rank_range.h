// The text of --ranks where a command predicts: "4", or a range, "2..4096".

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gradus::cli {

/// Numbers of ranks from `first` to `last`, both included.
struct RankRange {
  int64_t first = 0, last = 0; // 0: none

  bool isGiven() const { return first > 0; }
  /// The ends, and the powers of two between them, in ascending order; none of
  /// a range that is not given.
  std::vector<int64_t> counts() const;
};

/// The range of "2..4096": whole numbers from 1 to kMostRanks, in ascending
/// order, without blanks. Nothing for other text.
std::optional<RankRange> rankRangeOf(const std::string &text);

} // namespace gradus::cli
