// What must hold of a whole model before its nodes mean anything.
#pragma once

#include "frontends/onnx/model_file.h"

namespace gradus::onnx {

/// The newest version of ONNX's default operator set that we know.
constexpr int64_t kNewestOpset = 28;

/// Refuses a model of no opset or of one that is not known yet, a value that is
/// given twice, and an initializer that is also declared as an input of another
/// type.
absl::Status checkWellFormed(const ModelFile &file);

} // namespace gradus::onnx
