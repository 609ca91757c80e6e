// The features of this CPU and its system, in LLVM's names.

#pragma once

#include "runtime/artifact/artifact.h"

#include <string>
#include <vector>

namespace gradus::runtime {

/// The features of this machine, sorted: "avx2", "avx512bf16", "sse4.2", ...
const std::vector<std::string> &cpuFeatures();

/// Maker, family, model and stepping of this CPU: "GenuineIntel 000806f8".
std::string cpuModel();

/// The features that code needs and this machine lacks: "avx9000, amx-quantum".
std::string missingFeatures(
    const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>
        *needed);

} // namespace gradus::runtime
