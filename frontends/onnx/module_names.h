// The modules of the network that a model's nodes belong to, as its author
// named them: `layer1.0.conv1` of the node `/layer1/layer1.0/conv1/Conv`.
#pragma once

#include "absl/status/statusor.h"

#include <map>
#include <string>

namespace gradus {

/// Returns the module of each node that says so, by the node's name. That is,
/// in this order: the note that PyTorch's newer exporter leaves at a node, the
/// path in the name that its older one gives, or the module of the parameters
/// that the node reads.
absl::StatusOr<std::map<std::string, std::string>>
modulesOfOnnx(const std::string &path);

} // namespace gradus
