// The data of the report of a compilation.

#pragma once

#include "frontends/compiler/compiler.h"

#include <nlohmann/json.hpp>

#include <string>

namespace gradus::cli {

/// Collects the data; `artifact` is that of artifactJson(). Equal remarks
/// become one with a count. All text is UTF-8, which names of a model need not
/// be.
nlohmann::ordered_json compileReport(nlohmann::ordered_json artifact,
                                     const compiler::Trace &trace,
                                     const std::string &model,
                                     double milliseconds);

} // namespace gradus::cli
