// A number is read as where there is no range.

#include "tool/session/rank_range.h"

#include "tool/network.h"
#include "tool/number_options.h"

#include "absl/strings/numbers.h"

namespace gradus::cli {

std::vector<int64_t> RankRange::counts() const {
  std::vector<int64_t> all;
  if (!isGiven())
    return all;
  all.push_back(first);
  for (int64_t power = 1; power < last; power *= 2)
    if (power > first)
      all.push_back(power);
  if (last > first)
    all.push_back(last);
  return all;
}

/// The number of ranks in decimal digits; 0 for other text.
static int64_t countOf(std::string text) {
  int64_t count = 0;
  return wholeNumber(1, kMostRanks)(text).empty() &&
                 absl::SimpleAtoi(text, &count)
             ? count
             : 0;
}

std::optional<RankRange> rankRangeOf(const std::string &text) {
  size_t dots = text.find("..");
  if (dots == std::string::npos)
    return std::nullopt;
  RankRange range{countOf(text.substr(0, dots)),
                  countOf(text.substr(dots + 2))};
  if (!range.isGiven() || range.last < range.first)
    return std::nullopt;
  return range;
}

} // namespace gradus::cli
