// The parts of a report about each plan of an artifact: costs, memory,
// commands. All results are HTML, with a heading for each plan if there are
// several.

#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace gradus::cli {

/// The graph `train`; without one the program's first graph.
const nlohmann::ordered_json &stepOf(const nlohmann::ordered_json &plan);
/// The schedule of the step, if it has variants.
const nlohmann::ordered_json *scheduleOf(const nlohmann::ordered_json &facts);
/// A mark in the variant's colour; empty if the graph is not a variant.
std::string keyOf(const nlohmann::ordered_json *schedule,
                  const std::string &graph);

/// The main figures, as items of a list.
std::string planFigures(const nlohmann::ordered_json &facts);

std::string costTables(const nlohmann::ordered_json &facts);
std::string memoryCharts(const nlohmann::ordered_json &facts);
std::string commandTables(const nlohmann::ordered_json &facts);

} // namespace gradus::cli
