// Gives a sum over samples and what uses it the same rows, so that a kernel
// runs both on one row after another.
#pragma once

#include "codegen/plan/plan.h"

namespace gradus {

/// Whether an elementwise nest that reads a sum's results can run over the
/// sum's rows, as a normalization over the channels of its statistics: it reads
/// what the sum read of a row, at most `mostBytes`, from a cache. Such nests
/// get the row as their first dimension.
bool shareRows(plan::NestOp sum, int64_t mostBytes);

} // namespace gradus
