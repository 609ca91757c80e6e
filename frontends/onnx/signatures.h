// What ONNX says of the form of an op's nodes, whatever it computes.
#pragma once

#include "frontends/onnx/node.h"

namespace gradus::onnx {

/// Refuses a node with more inputs or outputs than its op has in the model's
/// opset, and an attribute of another type than ONNX gives it, which would be
/// read as if it were not there. Ops of other domains are not known here.
absl::Status checkSignature(const Node &node);

} // namespace gradus::onnx
