// Inlines a model's own functions.
#pragma once

#include "absl/status/status.h"

namespace onnx {
class ModelProto;
} // namespace onnx

namespace gradus::onnx {

/// Replaces nodes that call functions by the functions' nodes.
absl::Status inlineFunctions(::onnx::ModelProto &model);

} // namespace gradus::onnx
