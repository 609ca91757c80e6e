// A report: one JSON object, alone or in a page that draws it.
//
// The page is tool/report/template.html with its scripts, which are in what
// links this. What the object has is said where it is made: compile_report.cpp,
// tool/bench/bench.cpp, tool/train/run_report.cpp and python/gradus/_records.py.

#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace gradus::cli {

/// The first keys of a report's object: its form and its kind, such as
/// `compile`.
nlohmann::ordered_json reportHead(const std::string &kind);

/// The file of a report: a page that needs nothing else, or with a name that
/// ends in .json the object alone.
std::string reportText(const std::string &path,
                       const nlohmann::ordered_json &data);

} // namespace gradus::cli
