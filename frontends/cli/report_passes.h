// The passes of a report and what they said.

#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace gradus::cli {

/// Every pass in the order in which they ran, under its stage: counts of the
/// step before and after it.
std::string passTable(const nlohmann::ordered_json &facts);

/// The remarks of each pass, folded where they are many.
std::string remarkLists(const nlohmann::ordered_json &facts);

} // namespace gradus::cli
