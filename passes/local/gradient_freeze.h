// Settings of steps that train only a part of the model: the recipe's
// `gradient_freeze`.
#pragma once

#include "recipe/settings.h"

namespace gradus {

struct FreezeSettings {
  // Groups of layers, one of which a schedule draws or selects in turn.
  int64_t groups = 0;       // places to begin from; the first one is everything
  int64_t type = 0;         // 0: frozen steps in turn; 1: drawn at random
  double p = 0;             // fraction of steps that train everything
  int64_t totalSteps = 0;   // after which it starts again
  bool asMindSpore = false; // groups and lengths by its rules
  bool hasOwnSlots = false; // slots and update count for each group
  std::optional<std::vector<int64_t>> strategy; // the group of each step

  // By hand, for patterns of parameters: the step from which on, or before
  // which, they are frozen.
  std::optional<std::map<std::string, int64_t>> from, until;
  std::optional<int64_t> lastLayers; // number that are trained at all

  /// Whether `from`, `until` or `last_layers` specify what is frozen.
  bool isByHand() const { return from || until || lastLayers; }
};

const recipe::Method<FreezeSettings> &gradientFreeze();

} // namespace gradus
