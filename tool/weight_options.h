// --weights, --weights-map and --initialize: the initial values of a model's
// parameters.
#pragma once

#include "frontends/compiler/compiler.h"
#include "runtime/safetensors.h"
#include "tool/output_files.h"

#include <CLI/CLI.hpp>

#include <optional>

namespace gradus::cli {

/// Adds the options; `map` receives the rules of --weights-map.
void addWeightOptions(CLI::App &command, compiler::Request &request,
                      std::vector<std::string> &map);

/// Opens --weights and lists its tensors in the request, under their new names;
/// the data stay in the file.
std::optional<runtime::Safetensors>
openWeights(compiler::Request &request, const std::vector<std::string> &map);

/// Those of the rules of an option that are files.
std::vector<UsedFile> ruleFiles(const std::string &option,
                                const std::vector<std::string> &rules);

} // namespace gradus::cli
