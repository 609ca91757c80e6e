// What this processor and its system can run, in LLVM's names.

#pragma once

#include "runtime/artifact.h"

#include <string>
#include <vector>

namespace gradus::runtime {

/// Features of this machine, sorted: "avx2", "avx512bf16", "sse4.2", ...
const std::vector<std::string> &cpuFeatures();

/// Those that code needs and this machine lacks: "avx9000, amx-quantum".
std::string missingFeatures(
    const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>
        *needed);

} // namespace gradus::runtime
