// The passes of a report and their remarks.

#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace gradus::cli {

/// Lists every pass in the order in which they ran, under its stage, with
/// counts of the step before and after it.
std::string passTable(const nlohmann::ordered_json &facts);

/// Lists the remarks of each pass, folded if there are many.
std::string remarkLists(const nlohmann::ordered_json &facts);

} // namespace gradus::cli
