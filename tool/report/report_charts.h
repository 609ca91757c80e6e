// The charts of a report, as inline SVG in the page's colours. Texts are in
// HTML beside them, so that they keep their size on any screen.

#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace gradus::cli {

/// Draws the bytes of the arena in use at each command of a graph, and below it
/// the place and lifetime of each buffer; those that are live at the peak stand
/// out.
std::string memoryChart(const nlohmann::ordered_json &graph,
                        uint64_t arenaBytes);

/// Draws a line through (step, rate).
std::string rateChart(const nlohmann::ordered_json &points);

/// Draws the share of the time of each variant, as one bar.
std::string shareBar(const nlohmann::ordered_json &shares);

/// Draws the variants of the first steps, one cell each.
std::string stepStrip(const nlohmann::ordered_json &steps, size_t variants);

/// The CSS class that gives variant i of n its colour.
std::string variantClass(size_t variant, size_t variants);

} // namespace gradus::cli
