// Tells which bytes of a buffer a part of a command reads or writes: a kernel's
// argument, a tensor of a library call.

#pragma once

#include "runtime/flat.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace gradus::runtime {

/// A use of the first `bytes` of a buffer.
struct BufferUse {
  uint32_t buffer;
  uint64_t bytes; // UINT64_MAX if there are more than can be counted
  bool isRead, isWritten;
  bool isScratch = false; // what is written means nothing afterwards
};

struct ArgumentUse {
  bool isRead, isWritten;
};

/// Says what a kernel does to an argument. The last `outputs` arguments are
/// written, and the others read; if `outputs` is 0, each may be both.
ArgumentUse useOf(const artifact::KernelSignature &kernel, size_t argument);

/// Returns the use of a segment's buffer by a kernel with that many arguments.
BufferUse useOf(const artifact::KernelSignature &kernel,
                const artifact::Segment &segment, size_t argument);

/// Returns the product of the inner blocks of each axis of a tensor; empty if
/// its lists do not fit its dims.
std::vector<int64_t> blocksPerAxis(const artifact::LibraryTensor &tensor);

/// Counts the elements from the first to the last of a tensor whose strides are
/// none or one an axis, and whose padded dims are multiples of its blocks.
/// Nothing if they are too many, or the blocks do not fit.
std::optional<int64_t> extentOf(const artifact::LibraryTensor &tensor);

/// Returns the use of the buffer of such a tensor.
BufferUse useOf(const artifact::LibraryTensor &tensor, bool isWritten);

} // namespace gradus::runtime
