// A report as one HTML page that needs nothing else: no network, no script.

#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace gradus::cli {

/// Of what reportFacts() says, which also stands in the page as JSON (element
/// `facts`).
std::string reportPage(const nlohmann::ordered_json &facts);

} // namespace gradus::cli
