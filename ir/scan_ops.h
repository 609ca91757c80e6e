// Loops over steps: include this beside gradus.h to build or find them.
#pragma once

#include "ir/gradus.h"

#define GET_OP_CLASSES
#include "ir/scan_ops.h.inc"

namespace gradus {

/// Steps beyond which a scan is not written out: each is ops of its own.
constexpr int64_t kMostStepsWrittenOut = 4096;

} // namespace gradus
