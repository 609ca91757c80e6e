// Computes tolerances as docs/examples/record_case does, with the recorded run
// where that has one in float64.

#include "tool/check/measured_run.h"

#include "runtime/well_known.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <cmath>

namespace gradus::check {

double normOf(const std::vector<double> &values) {
  double squares = 0;
  for (double value : values)
    squares += value * value;
  return std::sqrt(squares);
}

//===-- measuring ---------------------------------------------------------===//

static MeasuredRun measureRun(Trainer &trainer, const std::vector<int> &batches,
                              const std::vector<std::string> &names) {
  MeasuredRun run;
  auto look = [&](double) {
    run.losses.push_back(trainer.output(well_known::kLoss).at(0));
    if (!std::isfinite(run.losses.back()))
      throw Refusal(absl::StrCat("the loss of step ", run.losses.size() - 1,
                                 " is ", run.losses.back()));
  };
  trainer.train({batches.begin(), batches.end() - 1}, look);
  for (const std::string &name : names)
    run.final[name] = trainer.state(name);
  trainer.train({batches.back()}, look);
  return run;
}

std::vector<MeasuredRun> measureRuns(Trainer &trainer,
                                     const std::vector<int> &batches,
                                     const std::vector<std::string> &names,
                                     int shaken) {
  std::vector<MeasuredRun> runs;
  for (int seed = 0; seed <= shaken; ++seed) {
    trainer.restart(seed);
    runs.push_back(measureRun(trainer, batches, names));
  }
  return runs;
}

std::vector<Tensors> measureGradients(Trainer &trainer, int shaken) {
  std::vector<Tensors> all;
  for (int seed = 0; seed <= shaken; ++seed) {
    trainer.restart(seed);
    trainer.step(0);
    Tensors gradients;
    for (const runtime::TensorInfo &output : trainer.graph().outputs)
      if (absl::string_view name = output.name;
          absl::ConsumePrefix(&name, "gradient."))
        gradients[std::string(name)] = trainer.output(output.name);
    all.push_back(std::move(gradients));
  }
  return all;
}

//===-- describing --------------------------------------------------------===//

static double largestOf(const std::vector<double> &values) {
  double largest = 0;
  for (double value : values)
    largest = std::max(largest, std::abs(value));
  return largest;
}

static std::vector<double> difference(std::vector<double> one,
                                      const std::vector<double> &other) {
  for (size_t i = 0; i < one.size(); ++i)
    one[i] -= other[i];
  return one;
}

static Json describeGradient(const runtime::StateInfo &parameter,
                             const std::vector<Tensors> &gradients,
                             const std::vector<double> &initial) {
  const std::string &name = parameter.name;
  const std::vector<double> &gradient = gradients[0].at(name);
  double moved = 0;
  for (const Tensors &each : gradients)
    moved = std::max(moved, largestOf(difference(each.at(name), gradient)));
  size_t few = std::min<size_t>(8, gradient.size());
  return {{"name", name},
          {"shape", parameter.type.shape},
          {"init_l2", normOf(initial)},
          {"grad0_l2", normOf(gradient)},
          {"grad0_first8",
           std::vector<double>(gradient.begin(), gradient.begin() + few)},
          {"grad0_maxabs", largestOf(gradient)},
          {"grad0_max_abs_dev_fp64", moved}};
}

Json describeGradients(const std::vector<Tensors> &gradients,
                       const Trainer &trainer) {
  Json parameters = Json::array();
  for (const runtime::StateInfo &state : trainer.states())
    if (gradients[0].contains(state.name))
      parameters.push_back(
          describeGradient(state, gradients, trainer.state(state.name)));
  return parameters;
}

/// The magnitude to which rounding of a tensor is relative: for a running mean,
/// the spread of the averaged values counts, too.
static double scaleOf(const std::string &name, const Tensors &final) {
  double scale = normOf(final.at(name));
  absl::string_view norm = name;
  if (!absl::ConsumeSuffix(&norm, ".running_mean"))
    return scale;
  auto variance = final.find(absl::StrCat(norm, ".running_var"));
  if (variance == final.end())
    return scale;
  std::vector<double> spread = variance->second;
  for (double &value : spread)
    value = std::sqrt(std::abs(value));
  return scale + normOf(spread);
}

/// The relative change of each final tensor by rounding.
static std::map<std::string, double>
driftsOf(const std::vector<MeasuredRun> &runs) {
  std::map<std::string, double> drifts;
  const Tensors &recorded = runs[0].final;
  for (const auto &[name, values] : recorded)
    for (const MeasuredRun &run : runs)
      drifts[name] = std::max(drifts[name],
                              normOf(difference(run.final.at(name), values)) /
                                  std::max(scaleOf(name, recorded), 1e-30));
  return drifts;
}

/// The tolerance of each step's loss; it never decreases.
static std::vector<double>
lossTolerances(const std::vector<MeasuredRun> &runs) {
  std::vector<double> tolerances;
  double spread = 0;
  for (size_t step = 0; step < runs[0].losses.size(); ++step) {
    double loss = runs[0].losses[step];
    for (const MeasuredRun &run : runs)
      spread = std::max(spread, std::abs(run.losses[step] - loss) /
                                    std::max(std::abs(loss), 1e-30));
    tolerances.push_back(std::max(2e-5, 10 * spread));
  }
  return tolerances;
}

Json describeRun(const std::vector<MeasuredRun> &runs) {
  constexpr double kNoise = 1e-3; // tensors with more drift are not compared
  Json noise = Json::object(), norms = Json::object();
  double rest = 0;
  for (const auto &[name, drift] : driftsOf(runs))
    if (drift > kNoise)
      noise[name] = drift;
    else
      rest = std::max(rest, drift);
  for (const auto &[name, values] : runs[0].final)
    norms[name] = normOf(values);
  std::vector<double> losses = runs[0].losses;
  double after = losses.back();
  losses.pop_back();
  return {{"steps", losses.size()},
          {"losses", losses},
          {"loss_after_on_batch0", after},
          {"loss_rtol", lossTolerances(runs)},
          {"final_param_l2", norms},
          {"final_param_l2_rtol", std::max(2e-5, 5 * rest)},
          {"final_param_l2_drift_without_rtol", noise}};
}

} // namespace gradus::check
