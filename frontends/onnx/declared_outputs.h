// What a file declares of its outputs, beside what its nodes give.
#pragma once

#include "absl/status/status.h"
#include "mlir/IR/Value.h"

namespace onnx {
class ValueInfoProto;
} // namespace onnx

namespace gradus::onnx {

/// Another element type is an error: whoever reads the output would take it for
/// that. Other sizes may be left from before the file was changed; a warning
/// tells them.
absl::Status checkDeclared(const ::onnx::ValueInfoProto &output,
                           mlir::Value value);

} // namespace gradus::onnx
