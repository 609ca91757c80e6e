// Checks the form of nodes that ONNX defines, independent of what they compute.
#pragma once

#include "frontends/onnx/file/node.h"

namespace gradus::onnx {

/// Refuses a node with more inputs or outputs than its op has in the model's
/// opset, and an attribute that ONNX does not have there, or has of another
/// type, which would be silently ignored. Ops of other domains, and attributes
/// whose names begin with two underscores, are not checked.
absl::Status checkSignature(const Node &node);

/// Refuses an imported node with an attribute that nothing asked it for, unless
/// it says what ONNX says where it is missing, or is a tool's own note.
absl::Status checkAllRead(const Node &node);

} // namespace gradus::onnx
