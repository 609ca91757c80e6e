// Recorded runs whose losses hang on how sums round: an activation beside zero
// turns its sign, and what follows differs by more than any rounding. Another
// processor, whose vectors have another length, adds in another order.

#pragma once

#include "tool/check/recorded_case.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace gradus::check {

/// Whether the losses of a run's first steps spread by more than its tolerance
/// where the weights move by up to two units in their last place, and what was
/// recorded lies among them. Losses that are no numbers hang on no roundings.
/// `losses` trains once; seed 0 moves nothing.
inline bool
hangsOnRoundings(const Json &run, size_t steps,
                 const std::function<std::vector<double>(uint32_t)> &losses) {
  constexpr uint32_t kSeeds = 16;
  std::vector<double> least = losses(0), most = least;
  for (uint32_t seed = 0; seed <= kSeeds; ++seed) {
    std::vector<double> moved = seed ? losses(seed) : least;
    for (size_t step = 0; step < steps; ++step) {
      if (!std::isfinite(moved[step]))
        return false;
      least[step] = std::min(least[step], moved[step]);
      most[step] = std::max(most[step], moved[step]);
    }
  }
  bool spread = false;
  for (size_t step = 0; step < steps; ++step) {
    double loss = run.at("losses").at(step);
    double tolerance =
        run.at("loss_rtol").at(step).get<double>() * std::fabs(loss);
    spread |= most[step] - least[step] > tolerance;
    if (loss < least[step] - tolerance || loss > most[step] + tolerance)
      return false;
  }
  return spread;
}

/// What a test says that is skipped for it.
constexpr const char *kHangsOnRoundings =
    "on this processor the losses hang on roundings: they spread by more than "
    "the tolerance, around what was recorded, when the weights move by two "
    "units in their last place";

} // namespace gradus::check
