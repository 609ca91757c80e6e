// Merges equal problems of several nodes into one line.

#include "frontends/onnx/file/problems.h"

namespace gradus::onnx {

std::string few(std::vector<std::string> names) {
  constexpr size_t kFew = 6;
  size_t more = names.size() > kFew ? names.size() - kFew : 0;
  names.resize(names.size() - more);
  return joined(names) + (more ? message(" and ", more, " more") : "");
}

void Problems::add(const Node &node, const std::string &reason) {
  nodes_[{printable(node.type()), printable(reason), node.opset()}].push_back(
      "\"" + printable(node.name()) + "\"");
}

/// Removes the node's name from the error, so that equal ones merge.
void Problems::addError(const Node &node, const absl::Status &error) {
  if (first_.ok())
    first_ = error;
  add(node, std::string(wordsBehind(error, node.place())));
}

absl::Status Problems::status() const {
  if (nodes_.empty())
    return absl::OkStatus();
  if (nodes_.size() == 1 && nodes_.begin()->second.size() == 1 && !first_.ok())
    return withKind(first_, ErrorKind::unsupported);
  std::string lines = "uses what is not supported:";
  for (const auto &[key, nodes] : nodes_)
    lines += message("\n  ", key.type, " (opset ", key.opset, ")",
                     key.reason.empty() ? "" : ": ", key.reason,
                     nodes.size() == 1 ? "; node " : "; nodes ", few(nodes));
  return unsupported(lines);
}

} // namespace gradus::onnx
