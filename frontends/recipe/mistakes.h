// Mistakes of a recipe, by the path of the key.

#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace gradus::recipe {

struct Mistake {
  std::string path, words;
};

/// Finds what no single key shows in a recipe whose keys are complete and right
/// one by one: settings that need or exclude one another.
std::vector<Mistake> mistakesTogether(const nlohmann::ordered_json &recipe);

/// Lists what such a recipe says without effect, because another key overrides
/// it.
std::vector<std::string> remarksTogether(const nlohmann::ordered_json &recipe);

} // namespace gradus::recipe
