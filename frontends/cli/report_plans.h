// What a report tells of each plan of an artifact: costs, memory, commands. All
// results are HTML, with a heading for each plan where there are several.

#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace gradus::cli {

/// The step that is trained with; of a program without one its first graph.
const nlohmann::ordered_json &stepOf(const nlohmann::ordered_json &plan);
/// Of the step, if it has variants.
const nlohmann::ordered_json *scheduleOf(const nlohmann::ordered_json &facts);
/// A mark of the variant's colour; none of what is no variant.
std::string keyOf(const nlohmann::ordered_json *schedule,
                  const std::string &graph);

/// At a glance, as items of a list.
std::string planFigures(const nlohmann::ordered_json &facts);

std::string costTables(const nlohmann::ordered_json &facts);
std::string memoryCharts(const nlohmann::ordered_json &facts);
std::string commandTables(const nlohmann::ordered_json &facts);

} // namespace gradus::cli
