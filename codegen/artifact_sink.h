// A sink takes the bytes of an artifact while it is made.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <functional>

namespace gradus {

/// Takes bytes of a file at their offset: those behind the header piece by
/// piece, in their order, then the header at 0. Returns false where it cannot,
/// and knows itself why not.
using ArtifactSink =
    std::function<bool(uint64_t offset, llvm::ArrayRef<char> bytes)>;

} // namespace gradus
