// Inputs for measuring: any values that a graph may meet.

#pragma once

#include "runtime/session.h"

#include <cstdint>
#include <vector>

namespace gradus::cli {

/// The bytes of an input: floats in [0, 1), labels in [0, classes), the input
/// `count` as `batch`, other integers 0. The same each time.
std::vector<uint8_t> syntheticInput(const runtime::TensorInfo &input,
                                    int64_t classes, int64_t batch);

} // namespace gradus::cli
