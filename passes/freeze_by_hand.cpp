// Freezing as a recipe writes it by hand; see freeze_by_hand.h.

#include "passes/freeze_by_hand.h"

#include "recipe/nearest.h"
#include "recipe/patterns.h"

using namespace mlir;
using namespace gradus;

namespace {

/// Parameters that rest before a step, or from it on.
struct Rest {
  std::set<std::string> parameters;
  int64_t step;
  bool isBefore;
};

/// `"conv1*": 1000` of `from` or `until`.
LogicalResult readRest(const RecipeObject &steps, StringRef pattern,
                       ArrayRef<FrozenParameter> parameters, Rest &rest) {
  SmallVector<StringRef> names;
  for (const FrozenParameter &parameter : parameters) {
    names.push_back(parameter.name);
    if (matchesPattern(pattern, parameter.name))
      rest.parameters.insert(parameter.name);
  }
  rest.step = steps.integer(pattern, 0);
  if (!rest.parameters.empty())
    return success();
  return steps.error(pattern) << "names no parameter that is trained; these "
                                 "are, nearest first: "
                              << nearestNames(pattern, names);
}

FailureOr<std::vector<Rest>> readRests(const RecipeObject &wish,
                                       ArrayRef<FrozenParameter> parameters) {
  std::vector<Rest> rests;
  for (StringRef key : {"from", "until"}) {
    RecipeObject steps = wish.object(key);
    for (const std::string &pattern : steps.keys()) {
      rests.push_back({{}, 0, key == "until"});
      if (failed(readRest(steps, pattern, parameters, rests.back())))
        return failure();
    }
  }
  return rests;
}

/// All before the last `count` layers.
std::set<std::string> beforeLast(const RecipeObject &wish, int64_t count,
                                 ArrayRef<FrozenParameter> parameters) {
  std::vector<int64_t> layers = freezeCuts(parameters, parameters.size());
  if (count > int64_t(layers.size()))
    wish.warning("last_layers") << "is " << count << ", but the model has only "
                                << layers.size() << " layers to train";
  std::set<std::string> frozen;
  if (count > 0 && count < int64_t(layers.size()))
    for (int64_t i = 0; i < layers[layers.size() - count]; ++i)
      frozen.insert(parameters[i].name);
  return frozen;
}

void addResting(std::set<std::string> &frozen, ArrayRef<Rest> rests,
                int64_t step) {
  for (const Rest &rest : rests)
    if (rest.isBefore ? step < rest.step : step >= rest.step)
      frozen.insert(rest.parameters.begin(), rest.parameters.end());
}

} // namespace

bool gradus::freezesByHand(const RecipeObject &wish) {
  return wish.has("from") || wish.has("until") || wish.has("last_layers");
}

FailureOr<std::vector<FreezePhase>>
gradus::freezePhases(const RecipeObject &wish,
                     ArrayRef<FrozenParameter> parameters) {
  auto rests = readRests(wish, parameters);
  if (failed(rests))
    return failure();
  std::set<std::string> always =
      beforeLast(wish, wish.integer("last_layers", 0), parameters);
  std::set<int64_t> steps = {0};
  for (const Rest &rest : *rests)
    steps.insert(std::max<int64_t>(0, rest.step));
  std::vector<FreezePhase> phases;
  for (int64_t step : steps) {
    FreezePhase phase = {step, always};
    addResting(phase.frozen, *rests, step);
    if (phase.frozen.size() == parameters.size())
      return wish.error(wish.has("from") ? "from" : "until")
             << "leaves no parameter to train from step " << step << " on";
    if (phases.empty() || phases.back().frozen != phase.frozen)
      phases.push_back(std::move(phase));
  }
  return phases;
}
