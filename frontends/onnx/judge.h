// What can be said against a node from its op and its attributes alone,
// whatever its inputs are: for nodes behind others that could not be imported,
// and for models whose sizes are not known yet.
#pragma once

#include "frontends/onnx/operators.h"

namespace gradus::onnx {

/// The op of a node is not of the model's opset, the node has not the form that
/// ONNX gives it, or an attribute is not taken.
absl::Status judge(const Operator &op, const Node &node);

/// Adds what is wrong with the nodes of a graph, with its branches and bodies.
void judgeNodes(const ::onnx::GraphProto &graph, int64_t opset,
                Problems &problems);

/// The same of the graphs that a node itself holds.
void judgeInside(const ::onnx::NodeProto &proto, int64_t opset,
                 Problems &problems);

} // namespace gradus::onnx
