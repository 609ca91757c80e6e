// Compares the outputs that a file declares with the values of its nodes.
#pragma once

#include "absl/status/status.h"
#include "mlir/IR/Value.h"

namespace onnx {
class ValueInfoProto;
} // namespace onnx

namespace gradus::onnx {

/// Fails if the element type differs, because readers would misinterpret the
/// output. Different sizes give a warning, since they may be left from before
/// the file was changed.
absl::Status checkDeclared(const ::onnx::ValueInfoProto &output,
                           mlir::Value value);

} // namespace gradus::onnx
