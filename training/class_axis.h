// Finds the class axis of an output for a loss, by the recipe in the artifact.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace gradus::training {

/// The axis that the recipe states, counted from the front; without one, the
/// first after the samples whose removal gives the labels' shape. Nothing if
/// the output has no such axis.
std::optional<int64_t> classAxis(const nlohmann::json &loss,
                                 const std::vector<int64_t> &output,
                                 const std::vector<int64_t> &labels);

} // namespace gradus::training
