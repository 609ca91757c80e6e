// Reads numbers of any type from memory.

#pragma once

#include "runtime/tensor_type.h"

#include <cstddef>

namespace gradus::training {

/// Element `i`; booleans are 0 or 1. Integers beyond 2^53 are rounded.
double numberAt(runtime::DType dtype, const void *data, size_t i);

} // namespace gradus::training
