// Collects the errors of all nodes that prevent the import, so that one run
// reports all.
#pragma once

#include "frontends/onnx/file/node.h"

#include <map>

namespace gradus::onnx {

/// Lists the first few names; a large model has pages of them.
std::string few(std::vector<std::string> names);

class Problems {
public:
  /// Adds a node whose op is unknown.
  void addMissing(const Node &node) { add(node, ""); }
  /// Adds an unsupported use of a known op; `error` is from Node::error.
  void addError(const Node &node, const absl::Status &error);

  /// The report, of kind `unsupported`: a line for each op and reason, or a
  /// single error with its own words.
  absl::Status status() const;

private:
  struct Key {
    std::string type, reason;
    int64_t opset;
    auto operator<=>(const Key &) const = default;
  };

  void add(const Node &node, const std::string &reason);

  std::map<Key, std::vector<std::string>> nodes_;
  absl::Status first_;
};

} // namespace gradus::onnx
