// What training a case gives here, and how far rounding moves it: the same run
// again from weights that differ in their last places.

#pragma once

#include "frontends/check/trainer.h"

#include <map>
#include <string>
#include <vector>

namespace gradus::check {

/// Values by the name of their tensor.
using Tensors = std::map<std::string, std::vector<double>>;

/// One run over batches in turn, and the loss on batch 0 after it.
struct MeasuredRun {
  std::vector<double> losses;
  Tensors final; // parameters and running statistics
};

/// The run as it is and `shaken` more, of `names` in the end. Throws where a
/// loss is no number.
std::vector<MeasuredRun> measureRuns(Trainer &trainer,
                                     const std::vector<int> &batches,
                                     const std::vector<std::string> &names,
                                     int shaken);

/// The first step's gradients of all parameters that have one, likewise; of an
/// artifact with `gradient.*` outputs.
std::vector<Tensors> measureGradients(Trainer &trainer, int shaken);

/// Their entries in case.json; [0] is the recorded one.
Json describeGradients(const std::vector<Tensors> &gradients,
                       const Trainer &trainer);
Json describeRun(const std::vector<MeasuredRun> &runs);

double normOf(const std::vector<double> &values);

} // namespace gradus::check
