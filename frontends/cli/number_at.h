// Numbers of any type as they lie in memory.

#pragma once

#include "runtime/tensor_type.h"

#include <cstddef>

namespace gradus::cli {

/// Number `i` of many; not-a-number where the type is none of numbers.
double numberAt(runtime::DType dtype, const void *data, size_t i);

} // namespace gradus::cli
