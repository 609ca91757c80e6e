// What a node computes on constants has the precision of their element type.
#pragma once

#include "frontends/onnx/constant.h"

namespace gradus::onnx {

/// What is left of its numbers in its element type: floats rounded, integers
/// without the bits that do not fit.
void fitToElement(Constant &constant);

} // namespace gradus::onnx
