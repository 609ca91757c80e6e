// Freezes parameters as a recipe says by hand; see freeze_by_hand.h.

#include "passes/local/freeze_by_hand.h"

#include "recipe/nearest.h"
#include "recipe/patterns.h"

using namespace mlir;
using namespace gradus;

namespace {

/// Parameters that are frozen before a step, or from it on.
struct Rest {
  std::set<std::string> parameters;
  int64_t step;
  bool isBefore;
};

/// Finds the parameters of an entry of `from` or `until`: `"conv1*": 1000`.
LogicalResult findNamed(ProgramOp program, StringRef pattern,
                        ArrayRef<FrozenParameter> parameters, Rest &rest) {
  SmallVector<StringRef> names;
  for (const FrozenParameter &parameter : parameters) {
    names.push_back(parameter.name);
    if (matchesPattern(pattern, parameter.name))
      rest.parameters.insert(parameter.name);
  }
  if (!rest.parameters.empty())
    return success();
  return recipe::keyError(program, Twine("gradient_freeze.") +
                                       (rest.isBefore ? "until." : "from.") +
                                       pattern)
         << "names no parameter that is trained; these "
            "are, nearest first: "
         << nearestNames(pattern, names);
}

FailureOr<std::vector<Rest>> findRests(ProgramOp program,
                                       const FreezeSettings &settings,
                                       ArrayRef<FrozenParameter> parameters) {
  std::vector<Rest> rests;
  for (bool isBefore : {false, true}) {
    const auto &named = isBefore ? settings.until : settings.from;
    if (!named)
      continue;
    for (const auto &[pattern, step] : *named) {
      rests.push_back({{}, step, isBefore});
      if (failed(findNamed(program, pattern, parameters, rests.back())))
        return failure();
    }
  }
  return rests;
}

/// The parameters before the last `count` layers.
std::set<std::string> beforeLast(ProgramOp program, int64_t count,
                                 ArrayRef<FrozenParameter> parameters) {
  std::vector<int64_t> layers = freezeCuts(parameters, parameters.size());
  if (count > int64_t(layers.size()))
    recipe::keyWarning(program, "gradient_freeze.last_layers")
        << "is " << count << ", but the model has only " << layers.size()
        << " layers to train";
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

FailureOr<std::vector<FreezePhase>>
gradus::freezePhases(ProgramOp program, const FreezeSettings &settings,
                     ArrayRef<FrozenParameter> parameters) {
  auto rests = findRests(program, settings, parameters);
  if (failed(rests))
    return failure();
  std::set<std::string> always =
      beforeLast(program, settings.lastLayers.value_or(0), parameters);
  std::set<int64_t> steps = {0};
  for (const Rest &rest : *rests)
    steps.insert(std::max<int64_t>(0, rest.step));
  std::vector<FreezePhase> phases;
  for (int64_t step : steps) {
    FreezePhase phase = {step, always};
    addResting(phase.frozen, *rests, step);
    if (phase.frozen.size() == parameters.size())
      return recipe::keyError(program, settings.from ? "gradient_freeze.from"
                                                     : "gradient_freeze.until")
             << "leaves no parameter to train from step " << step << " on";
    if (phases.empty() || phases.back().frozen != phase.frozen)
      phases.push_back(std::move(phase));
  }
  return phases;
}
