// Finds parts of a recipe that do not fit the length of a run: schedules that
// end before it, or long after it, or count updates where epochs seem to be
// meant, and averages of weights that cannot follow in time.

#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::cli {

/// One sentence for each, for a run that ends at step `steps`; `perEpoch` is
/// the number of steps of an epoch, 0 if it has none.
std::vector<std::string> lengthWarnings(const nlohmann::json &recipe,
                                        int64_t steps, int64_t perEpoch = 0);

} // namespace gradus::cli
