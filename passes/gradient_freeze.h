// Steps that train a part of the model: the recipe's `gradient_freeze`.
#pragma once

#include "recipe/settings.h"

namespace gradus {

struct FreezeSettings {
  // Groups of layers, of which a schedule draws or takes one in turn.
  int64_t groups = 0;       // places to begin from; the first one is everything
  int64_t type = 0;         // 0: frozen steps come in turn; 1: they are drawn
  double p = 0;             // part of the steps that train everything
  int64_t totalSteps = 0;   // until it begins again
  bool asMindSpore = false; // groups and lengths by its rules
  bool hasOwnSlots = false; // each group, and its own count of updates
  std::optional<std::vector<int64_t>> strategy; // the group of each step

  // By hand, by patterns of parameters: the step from which on, or before
  // which, they rest.
  std::optional<std::map<std::string, int64_t>> from, until;
  std::optional<int64_t> lastLayers; // how many are trained; the others never

  /// Whether `from`, `until` or `last_layers` say what rests.
  bool isByHand() const { return from || until || lastLayers; }
};

const recipe::Method<FreezeSettings> &gradientFreeze();

} // namespace gradus
