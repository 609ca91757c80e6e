// Averages are states of their own; commands that use them copy them to the
// parameters and then continue as usual.

#include "tool/session/averages.h"

#include "runtime/well_known.h"
#include "tool/failure.h"
#include "tool/session/session_options.h"
#include "training/rank_means.h"

#include <algorithm>

using namespace gradus::runtime;

namespace gradus::cli {

static constexpr std::string_view kAverage = "ema/average/";
static constexpr std::string_view kSlow = "lookahead/slow/";

std::string averageName(const std::string &parameter) {
  return std::string(kAverage) + parameter;
}

std::string averagedName(const std::string &name) {
  return name.starts_with(kAverage) ? name.substr(kAverage.size()) : "";
}

std::string copiedName(const std::string &name) {
  return name.starts_with(kSlow) ? name.substr(kSlow.size())
                                 : averagedName(name);
}

bool isZero(const NamedTensor &tensor) {
  return std::ranges::none_of(tensor.data, [](uint8_t byte) { return byte; });
}

/// Whether the parameters were updated, which is when their averages begin.
/// Updates are counted by the counter of the steps that were not skipped, or
/// else of all steps.
static bool hasUpdates(const Session &session) {
  int counter = session.findState(well_known::kAcceptedSteps);
  if (counter < 0)
    counter = session.findState(well_known::kStep);
  int64_t steps = 0;
  if (counter < 0 ||
      !session.readState(session.states()[counter].name, &steps, sizeof(steps))
           .ok())
    return false;
  return steps >= stepsPerUpdate(recipeOf(session));
}

static Failure keepsNone() {
  return badInput("--ema: this artifact keeps no averages of weights; they "
                  "are what the recipe's `ema` asks for");
}

int findEvaluation(const Session &session, bool averaged) {
  if (averaged && session.findGraph(well_known::kEvaluateAveraged) < 0)
    throw keepsNone();
  return findGraph(session, averaged ? well_known::kEvaluateAveraged
                                     : well_known::kEvaluate);
}

std::vector<int> ownEvaluated(const Session &session, bool averaged) {
  std::vector<int> own = training::ownStates(session);
  std::erase_if(own, [&](int number) {
    const StateInfo &state = session.states()[static_cast<size_t>(number)];
    return state.role != artifact::Role::parameter &&
           state.role != artifact::Role::buffer &&
           !(averaged && state.name.starts_with(kAverage));
  });
  return own;
}

void takeAverages(Session &session) {
  bool any = false, begun = hasUpdates(session);
  for (const StateInfo &state : session.states()) {
    std::string parameter = averagedName(state.name);
    any |= !parameter.empty();
    if (parameter.empty() || !begun)
      continue;
    auto average = take(session.stateBytes(session.findState(state.name)));
    check(session.writeState(parameter, average.data(), average.size()));
  }
  if (!any)
    throw keepsNone();
}

void verifyAverages(const Safetensors &file, const std::string &path) {
  bool any = false, begun = false;
  for (const NamedTensor &tensor : file.tensors()) {
    if (averagedName(tensor.name).empty())
      continue;
    any = true;
    begun |= !isZero(tensor);
  }
  if (!begun)
    throw badInput("--ema: ", path,
                   any ? " holds no averages of weights yet: no update was made"
                       : " holds no averages of weights (ema/average/...); "
                         "they are what the recipe's `ema` asks for");
}

Rename namedAsParameters(Rename rename) {
  return [rename](const std::string &name) {
    std::string parameter = averagedName(name);
    return rename(parameter.empty() ? name : parameter);
  };
}

} // namespace gradus::cli
