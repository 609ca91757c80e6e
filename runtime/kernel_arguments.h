// Tells which of its arguments a kernel reads and writes, by its signature
// (artifact.fbs).

#pragma once

#include "runtime/flat.h"

namespace gradus::runtime {

struct ArgumentUse {
  bool isRead, isWritten;
};

/// The last `outputs` arguments are written, and the others read; if `outputs`
/// is 0, each may be both.
inline ArgumentUse useOf(const artifact::KernelSignature &kernel,
                         size_t argument) {
  if (kernel.outputs() == 0)
    return {true, true};
  bool isWritten = argument + kernel.outputs() >= countOf(kernel.fixed_bytes());
  return {!isWritten, isWritten};
}

} // namespace gradus::runtime
