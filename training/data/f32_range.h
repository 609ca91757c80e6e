// Finds f64 numbers that would become infinite in an input of f32.

#pragma once

#include "training/data/dataset.h"

namespace gradus::data {

/// Names the first sample with such a number; infinities in the data are
/// allowed.
runtime::Status checkF32Range(const Column &column);

} // namespace gradus::data
