// Tells which bytes of which buffers a command reads and writes. Verification,
// maps of memory and the search for NaNs ask here, so that a further kind of
// command says it once.

#pragma once

#include "runtime/artifact/buffer_use.h"

namespace gradus::runtime {

/// Returns the uses of a command of a verified plan, its arguments in order.
/// `kernels` may be null if no command calls one.
std::vector<BufferUse> usesOf(const artifact::Plan &plan,
                              const artifact::CodeHeader *kernels,
                              const artifact::Command &command);

/// Returns the numbers of the buffers that hold results of a command.
std::vector<uint32_t> buffersWritten(const artifact::Plan &plan,
                                     const artifact::CodeHeader *kernels,
                                     const artifact::Command &command);

} // namespace gradus::runtime
