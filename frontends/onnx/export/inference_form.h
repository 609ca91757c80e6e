// A graph as it computes outside of training.
#pragma once

#include "ir/gradus.h"

namespace gradus::onnx {

/// Removes dropout. Random masks of known probability, which are dropouts of
/// ones, become that probability, and alpha dropouts their input; other random
/// numbers stay.
void makeInference(GraphOp graph);

} // namespace gradus::onnx
