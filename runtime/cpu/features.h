// What this processor and its system can run, in LLVM's names.

#pragma once

#include "runtime/artifact.h"

#include "runtime/status.h"

#include <string>
#include <vector>

namespace gradus::runtime {

/// Features of this machine, sorted: "avx2", "avx512bf16", "sse4.2", ...
const std::vector<std::string> &cpuFeatures();

/// Those that a plan needs and this machine lacks.
std::vector<std::string> missingFeatures(const artifact::Plan &plan);

/// The plan with the greatest tuning_score among those for the CPU that this
/// machine can run; else an error that says what each of them lacks.
StatusOr<const artifact::Plan *> choosePlan(const artifact::Header &header);

} // namespace gradus::runtime
