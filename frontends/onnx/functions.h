// A model's own functions: nodes that stand for other nodes.
#pragma once

#include "absl/status/status.h"

namespace onnx {
class ModelProto;
} // namespace onnx

namespace gradus::onnx {

/// Puts the nodes of each function in place of the nodes that call it.
absl::Status inlineFunctions(::onnx::ModelProto &model);

} // namespace gradus::onnx
