// Gives computed constants the precision of their element type.
#pragma once

#include "frontends/onnx/importer/constant.h"

namespace gradus::onnx {

/// Fits the numbers to the element type: rounds floats and cuts upper bits of
/// integers.
void fitToElement(Constant &constant);

} // namespace gradus::onnx
