// Words for too few samples, in the file or after the tests' part.

#include "tool/train/whole_batch.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace gradus::cli {

Failure noWholeBatch(const data::Feed &feed, const std::string &source,
                     double validation, const BatchRanks &ranks) {
  std::string has =
      validation > 0
          ? absl::StrCat("--validation ", validation, ": leaves ",
                         feed.samples(), " of the samples of ", source,
                         " to train on")
          : absl::StrCat(source, ": has ", feed.samples(), " samples");
  if (feed.samples() < ranks.count && ranks.areLogical)
    return badInput(has, ", but one step takes ", feed.batch(), " on each of ",
                    ranks.count,
                    " logical ranks; compile with fewer "
                    "(distribution.logical_ranks)");
  if (ranks.count > 1)
    return badInput(
        has, ", but one step takes ", feed.batch(), " on each of ", ranks.count,
        ranks.areLogical ? " logical ranks; compile with fewer "
                           "(distribution.logical_ranks), or with --dim batch="
                         : " ranks; train on fewer, or compile with --dim "
                           "batch=",
        std::max<int64_t>(1, feed.samples() / ranks.count), " or less");
  return badInput(has, ", but one batch takes ", feed.batch(), "; ",
                  validation > 0 ? "keep a smaller part for tests, or " : "",
                  "compile with --dim batch=", feed.samples(), " or less");
}

} // namespace gradus::cli
