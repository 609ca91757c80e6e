// What is wrong with a recipe, by the path of the key.

#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace gradus::recipe {

struct Mistake {
  std::string path, words;
};

/// What no single key can see, of a recipe whose keys are right one by one and
/// complete: settings that need one another or exclude one another.
std::vector<Mistake> mistakesTogether(const nlohmann::ordered_json &recipe);

/// What such a recipe says without effect, since another key says it otherwise.
std::vector<std::string> remarksTogether(const nlohmann::ordered_json &recipe);

} // namespace gradus::recipe
