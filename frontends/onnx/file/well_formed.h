// Conditions on a whole model, checked before its nodes.
#pragma once

#include "frontends/onnx/file/model_file.h"

namespace gradus::onnx {

/// The newest version of ONNX's default operator set that we know.
constexpr int64_t kNewestOpset = 28;

/// Refuses a model without an opset or with an unknown one, a value that is
/// defined twice, and an initializer that is also declared as an input of
/// another type.
absl::Status checkWellFormed(const ModelFile &file);

} // namespace gradus::onnx
