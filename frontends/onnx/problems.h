// What keeps a model from being imported, gathered over all its nodes, so that
// one run tells all of it.
#pragma once

#include "frontends/onnx/node.h"

#include <map>

namespace gradus::onnx {

/// The first few names; of a large model all would be pages.
std::string few(std::vector<std::string> names);

class Problems {
public:
  /// An op that we do not have.
  void addMissing(const Node &node) { add(node, ""); }
  /// An op that we have, and what is the matter with this use of it; `error` is
  /// one of Node::error.
  void addError(const Node &node, const absl::Status &error);

  /// All of it, a line for each op and reason; a single error as it is.
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
