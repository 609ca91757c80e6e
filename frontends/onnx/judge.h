// Checks a node by its op and attributes alone: for nodes that use results of
// others that could not be imported, and for models whose sizes are not known
// yet.
#pragma once

#include "frontends/onnx/operators/operators.h"

namespace gradus::onnx {

/// Refuses a node whose op is not in the model's opset, whose form differs from
/// ONNX's, or with an unsupported attribute.
absl::Status judge(const Operator &op, const Node &node);

/// Adds the errors of a graph's nodes, nested ones included.
void judgeNodes(const ::onnx::GraphProto &graph, int64_t opset,
                Problems &problems);

/// Adds the errors of the graphs inside a node.
void judgeInside(const ::onnx::NodeProto &proto, int64_t opset,
                 Problems &problems);

} // namespace gradus::onnx
