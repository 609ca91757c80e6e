// A report as one self-contained HTML page: no network, no script.

#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace gradus::cli {

/// Builds the page from the result of reportFacts(), which is also in the page
/// as JSON (element `facts`).
std::string reportPage(const nlohmann::ordered_json &facts);

} // namespace gradus::cli
