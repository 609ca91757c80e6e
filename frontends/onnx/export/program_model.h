// Writes a program as an ONNX model: the graph @predict by the rows of its ops
// (operators/exports.h), the states as initializers with their names.
#pragma once

#include "frontends/onnx/file/onnx.pb.h"

#include "ir/gradus.h"

#include "absl/status/statusor.h"

#include <set>
#include <string>

namespace gradus::onnx {

struct ProgramModel {
  ::onnx::ModelProto model;
  /// States without a value, whose initializers are zeros.
  std::set<std::string> unset;
};

/// Writes the program in the form for training, or for inference: without
/// dropout, with running statistics alone, and with the probability of each
/// random mask in its place. May rewrite the program on the way. An op without
/// a row is an error that names it and its node.
absl::StatusOr<ProgramModel> writeProgram(ProgramOp program, bool forInference);

} // namespace gradus::onnx
