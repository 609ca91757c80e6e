// The facts of a compilation that a report shows, as JSON.

#pragma once

#include "frontends/compiler/compiler.h"

#include <nlohmann/json.hpp>

#include <string>

namespace gradus::cli {

/// Collects the facts; `artifact` is that of artifactJson(). Equal remarks
/// become one with a count. All text is UTF-8, which names of a model need not
/// be.
nlohmann::ordered_json reportFacts(const nlohmann::ordered_json &artifact,
                                   const compiler::Trace &trace,
                                   const std::string &model,
                                   double milliseconds);

} // namespace gradus::cli
