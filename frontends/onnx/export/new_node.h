// Nodes that an export adds to a model's graph.

#pragma once

#include "frontends/onnx/file/onnx.pb.h"

#include <string>
#include <vector>

namespace gradus::onnx {

/// A node with one output, which has the node's name.
inline ::onnx::NodeProto newNode(const char *op,
                                 const std::vector<std::string> &inputs,
                                 const std::string &output) {
  ::onnx::NodeProto node;
  node.set_op_type(op);
  node.set_name(output);
  for (const std::string &input : inputs)
    node.add_input(input);
  node.add_output(output);
  return node;
}

} // namespace gradus::onnx
