// Reads the recipe that an artifact carries, and the facts beside it.

#include "runtime/session/artifact_metadata.h"

#include "runtime/flat.h"

#include <nlohmann/json.hpp>

#include <string_view>

namespace gradus::runtime {
namespace {

using Json = nlohmann::ordered_json;

/// Texts of an artifact may hold any bytes; those that are not UTF-8 are
/// written as names are.
std::string textOf(const Json &value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The recipe; an empty object if there is none that can be read. It may be
/// anybody's text, and writing it again is recursive: what lies deeper than any
/// key is left out.
Json recipeOf(const artifact::Header &header) {
  constexpr int kMostLevels = 64;
  Json recipe = Json::parse(
      gradus::runtime::textOf(header.recipe()),
      [](int depth, Json::parse_event_t, Json &) {
        return depth <= kMostLevels;
      },
      /*allow_exceptions=*/false);
  return recipe.is_object() ? recipe : Json::object();
}

/// Lists for each graph the numbers of classes of its inputs that are indices.
Json indicesOf(const Session &session) {
  Json all = Json::object();
  for (const GraphInfo &graph : session.graphs())
    for (const TensorInfo &input : graph.inputs)
      if (input.indices)
        all[graph.name][input.name] = input.indices;
  return all;
}

/// A fact beside the recipe; discarded if the key is of none.
Json factOf(const Session &session, std::string_view key) {
  const artifact::Header &header = session.artifact().header();
  if (key == "program")
    return gradus::runtime::textOf(header.name());
  if (key == "producer")
    return gradus::runtime::textOf(header.producer());
  if (key == "target")
    return gradus::runtime::textOf(session.plan().target());
  if (key == "classes")
    return header.classes() ? Json(header.classes()) : Json(nullptr);
  if (key == "deterministic")
    return header.deterministic();
  if (key == "indices")
    return indicesOf(session);
  return Json(Json::value_t::discarded);
}

/// The value under a path of keys; null if there is none.
const Json *findPath(const Json &recipe, std::string_view path) {
  const Json *at = &recipe;
  while (true) {
    size_t dot = path.find('.');
    auto found = at->find(path.substr(0, dot));
    if (found == at->end())
      return nullptr;
    at = &*found;
    if (dot == path.npos)
      return at;
    path.remove_prefix(dot + 1);
  }
}

} // namespace

std::string metadataOf(const Session &session, const std::string &key) {
  constexpr std::string_view kFacts = "artifact.";
  if (key.starts_with(kFacts)) {
    Json fact = factOf(session, std::string_view(key).substr(kFacts.size()));
    return fact.is_discarded() ? "" : textOf(fact);
  }
  Json recipe = recipeOf(session.artifact().header());
  if (key == kWholeRecipe)
    return textOf(recipe);
  const Json *value = findPath(recipe, key);
  return value ? textOf(*value) : "";
}

} // namespace gradus::runtime
