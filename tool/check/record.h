// Records a training case with Gradus itself: today's results, to check later,
// on another machine or by another tool.

#pragma once

#include "frontends/compiler/compiler.h"

#include <filesystem>
#include <string>
#include <vector>

namespace gradus::check {

struct RecordRequest {
  compiler::Request model;       // an .onnx file and a recipe
  std::vector<std::string> data; // as for `gradus train --data`
  int64_t steps = 10;
  int64_t batches = 2; // the first of the data, in order
};

/// Writes the folder; leaves no partial one. Throws Refusal.
void recordCase(compiler::Compiler &compiler, const RecordRequest &request,
                const std::filesystem::path &folder);

} // namespace gradus::check
