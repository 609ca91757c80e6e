// Finds the axis of an output that a loss takes for its classes, by the recipe
// that the artifact records.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace gradus::cli {

/// The axis that the recipe says, counted from the front, or the first after
/// the samples' whose absence makes the labels' shape of the output's, where it
/// says none. Nothing if the output has no such axis.
std::optional<int64_t> classAxis(const nlohmann::json &loss,
                                 const std::vector<int64_t> &output,
                                 const std::vector<int64_t> &labels);

} // namespace gradus::cli
