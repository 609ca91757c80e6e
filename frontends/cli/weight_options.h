// --weights, --weights-map and --initialize: what a model's parameters start
// from.
#pragma once

#include "frontends/compiler/compiler.h"
#include "runtime/safetensors.h"

#include <CLI/CLI.hpp>

#include <optional>

namespace gradus::cli {

/// `map` takes the rules of --weights-map.
void addWeightOptions(CLI::App &command, compiler::Request &request,
                      std::vector<std::string> &map);

/// Opens --weights and lists its tensors in the request, under the names that
/// they are to have; they lie in the file.
std::optional<runtime::Safetensors>
openWeights(compiler::Request &request, const std::vector<std::string> &map);

} // namespace gradus::cli
