// --weights and --initialize: what a model's parameters start from.
#pragma once

#include "frontends/compiler/compiler.h"
#include "runtime/safetensors.h"

#include <CLI/CLI.hpp>

#include <optional>

namespace gradus::cli {

void addWeightOptions(CLI::App &command, compiler::Request &request);

/// Opens --weights and lists its tensors in the request; they lie in the file.
std::optional<runtime::Safetensors> openWeights(compiler::Request &request);

} // namespace gradus::cli
