// Numbers of f64 that are too large for an input of f32, where they would
// become infinite.

#pragma once

#include "frontends/data/dataset.h"

namespace gradus::data {

/// Names the first sample with such a number; infinities are what they are.
runtime::Status checkF32Range(const Column &column);

} // namespace gradus::data
