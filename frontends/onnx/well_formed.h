// What must hold of a whole model before its nodes mean anything.
#pragma once

#include "frontends/onnx/model_file.h"

namespace gradus::onnx {

/// The newest version of ONNX's default operator set that we know.
constexpr int64_t kNewestOpset = 28;

/// Refuses an opset that is not known yet, and a value that is given twice.
absl::Status checkWellFormed(const ModelFile &file);

} // namespace gradus::onnx
