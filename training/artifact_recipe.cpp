// The compiler has checked the recipe; what has another form counts as not
// there.

#include "training/artifact_recipe.h"

#include "messages/json_text.h"
#include "runtime/well_known.h"

#include <algorithm>

using namespace gradus::runtime;

namespace gradus::training {

StatusOr<int> graphOf(const Session &session, const std::string &name) {
  int graph = session.findGraph(name);
  if (graph >= 0)
    return graph;
  std::string names;
  for (const GraphInfo &each : session.graphs())
    names += (names.empty() ? "" : ", ") + each.name;
  return invalid(session.artifact().path(), ": has no graph '", name,
                 "'; it has ", names);
}

nlohmann::json recipeOf(const Session &session) {
  const flatbuffers::String *text = session.artifact().header().recipe();
  nlohmann::json recipe = parsedJson(text ? text->string_view() : "");
  return recipe.is_object() ? recipe : nlohmann::json::object();
}

/// A count from 1 to the most that a recipe may have, of which two can be
/// multiplied; 1 if an object has none of this name.
static int64_t countAt(const nlohmann::json &object, const char *key) {
  constexpr int64_t kMost = 1'000'000'000;
  auto said = object.find(key);
  return said != object.end() && said->is_number_integer()
             ? std::clamp<int64_t>(said->get<int64_t>(), 1, kMost)
             : 1;
}

int64_t stepsPerUpdate(const nlohmann::json &recipe) {
  return countAt(recipe, "accumulation");
}

int64_t updatesPerMeeting(const nlohmann::json &recipe) {
  auto shared = recipe.find("distribution");
  return shared != recipe.end() && shared->is_object() &&
                 shared->value("mode", nlohmann::json()) == "data_parallel" &&
                 shared->value("reduce", nlohmann::json()) == "local"
             ? countAt(*shared, "every")
             : 0;
}

bool ranksKeepOwn(const Session &session) {
  return updatesPerMeeting(recipeOf(session)) == 0 &&
         std::ranges::any_of(session.states(), [](const StateInfo &state) {
           return state.isPerRank && state.role == artifact::Role::parameter;
         });
}

RunLength runLengthOf(const nlohmann::json &recipe, int64_t steps,
                      int64_t perEpoch) {
  int64_t perUpdate = stepsPerUpdate(recipe);
  return {static_cast<double>(std::max<int64_t>(steps / perUpdate, 1)),
          static_cast<double>(perEpoch) / static_cast<double>(perUpdate)};
}

ArtifactOutline outlineOf(const Session &session) {
  ArtifactOutline outline;
  outline.path = session.artifact().path();
  outline.recipe = recipeOf(session);
  outline.classes = session.artifact().header().classes();
  for (const GraphInfo &graph : session.graphs())
    outline.graphs.push_back({graph.name, graph.inputs, graph.outputs});
  return outline;
}

data::LabelRules labelRules(const Session &session) {
  return labelRules(outlineOf(session));
}

bool lossIsTotal(const Session &session) {
  return lossIsTotal(recipeOf(session));
}

} // namespace gradus::training
