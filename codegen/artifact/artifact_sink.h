// A sink receives the bytes of an artifact as they are written.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <functional>

namespace gradus {

/// Receives the bytes of a file with their offsets: first the sections after
/// the header, in order, then the header at 0. Returns false on failure, whose
/// reason it keeps itself.
using ArtifactSink =
    std::function<bool(uint64_t offset, llvm::ArrayRef<char> bytes)>;

} // namespace gradus
