// The drawings of a report, as inline SVG that takes the page's colours. Words
// stand beside them in HTML, so that they keep their size on any screen.

#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace gradus::cli {

/// Bytes of the arena in use at each command of a graph, and below it which
/// buffer lies where when; what is live at the peak stands out.
std::string memoryChart(const nlohmann::ordered_json &graph,
                        uint64_t arenaBytes);

/// A line through (step, rate).
std::string rateChart(const nlohmann::ordered_json &points);

/// How much of the time each variant takes, as one bar.
std::string shareBar(const nlohmann::ordered_json &shares);

/// The variants of the first steps, a cell each.
std::string stepStrip(const nlohmann::ordered_json &steps, size_t variants);

/// The class that gives variant i of n its colour.
std::string variantClass(size_t variant, size_t variants);

} // namespace gradus::cli
