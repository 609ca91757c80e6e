// A figure of a step, an epoch or a test, by its name.

#pragma once

#include "runtime/well_known.h"

#include <string>

namespace gradus::training {

struct Metric {
  std::string name;
  double value = 0;
};

/// Whether a metric is a current value (learning_rate, loss_scale or a group's
/// loss_scale/0, skipped_steps) rather than a result of one step.
inline bool isStanding(const std::string &metric) {
  static const std::string scale = well_known::kLossScale;
  return metric == "learning_rate" || metric == scale ||
         metric.starts_with(scale + "/") || metric == well_known::kSkippedSteps;
}

} // namespace gradus::training
