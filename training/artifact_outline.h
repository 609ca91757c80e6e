// Describes an artifact as far as that decides how data reach its graphs. A
// session gives it, and so may those who see an artifact through the C API.

#pragma once

#include "runtime/session/session.h"
#include "training/data/integers.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace gradus::training {

struct GraphOutline {
  std::string name;
  std::vector<runtime::TensorInfo> inputs, outputs;
};

struct ArtifactOutline {
  std::string path; // for errors
  nlohmann::json recipe = nlohmann::json::object();
  int64_t classes = 0; // that it says that there are; 0: it says none
  std::vector<GraphOutline> graphs;

  /// The graph of this name; null if there is none.
  const GraphOutline *find(const std::string &graph) const;

  /// Reads {"path": ..., "recipe": {...}, "classes": 10, "graphs": [{"name":
  /// ..., "inputs": [[name, "f32", [8, 2], indices]...], "outputs": ...}]}.
  static runtime::StatusOr<ArtifactOutline> parse(const std::string &text);
};

/// The values that labels may have, by artifact and recipe.
data::LabelRules labelRules(const ArtifactOutline &artifact);
/// Whether the loss of a recipe is a sum over samples rather than a mean.
bool lossIsTotal(const nlohmann::json &recipe);

} // namespace gradus::training
