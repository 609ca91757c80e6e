// A figure of a step, an epoch or a test, by its name.

#pragma once

#include "runtime/well_known.h"

#include <string>

namespace gradus::training {

struct Metric {
  std::string name;
  double value = 0;
};

/// Whether a metric is a current value (learning_rate, loss_scale,
/// skipped_steps) rather than a result of one step.
inline bool isStanding(const std::string &metric) {
  return metric == "learning_rate" || metric == well_known::kLossScale ||
         metric == well_known::kSkippedSteps;
}

} // namespace gradus::training
