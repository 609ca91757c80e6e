// What this processor and its system can run, in LLVM's names.

#pragma once

#include "runtime/artifact.h"

#include <string>
#include <vector>

namespace gradus::runtime {

/// Features of this machine, sorted: "avx2", "avx512bf16", "sse4.2", ...
const std::vector<std::string> &cpuFeatures();

/// Those that a plan needs and this machine lacks.
std::vector<std::string> missingFeatures(const artifact::Plan &plan);

} // namespace gradus::runtime
