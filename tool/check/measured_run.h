// Measures the training of a case here, and the effect of rounding: repeats the
// run from weights that differ in their last bits.

#pragma once

#include "tool/check/trainer.h"

#include <map>
#include <string>
#include <vector>

namespace gradus::check {

/// Values by the name of their tensor.
using Tensors = std::map<std::string, std::vector<double>>;

/// One run over the given batches, and the loss on batch 0 after it.
struct MeasuredRun {
  std::vector<double> losses;
  Tensors final; // parameters and running statistics
};

/// Runs once as given and `shaken` times from changed weights; keeps the final
/// values of `names`. Throws if a loss is NaN or infinite.
std::vector<MeasuredRun> measureRuns(Trainer &trainer,
                                     const std::vector<int> &batches,
                                     const std::vector<std::string> &names,
                                     int shaken);

/// Measures the first step's gradients of all parameters that have one in the
/// same way; needs an artifact with `gradient.*` outputs.
std::vector<Tensors> measureGradients(Trainer &trainer, int shaken);

/// Their entries in case.json; gradients[0] is the recorded run.
Json describeGradients(const std::vector<Tensors> &gradients,
                       const Trainer &trainer);
Json describeRun(const std::vector<MeasuredRun> &runs);

double normOf(const std::vector<double> &values);

} // namespace gradus::check
