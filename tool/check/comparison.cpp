// Computes the tolerances of recorded cases and pairs found numbers with
// recorded ones.

#include "tool/check/comparison.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradus::check {

constexpr double kRounding = 2e-5; // the minimum that record_case.py states
/// The error of a sum in another order, in multiples of the recorded noise.
constexpr double kOtherOrder = 7;

static double normOf(std::span<const double> values) {
  double squares = 0;
  for (double value : values)
    squares += value * value;
  return std::sqrt(squares);
}

//===-- deviations --------------------------------------------------------===//

double Deviation::ratio() const {
  double distance = std::abs(found - expected);
  if (distance == 0)
    return 0;
  double ratio = distance / tolerance;
  return std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
}

std::string Deviation::text() const {
  return absl::StrFormat("%s is %.9g, expected %.9g +- %.2g", what, found,
                         expected, tolerance);
}

Comparison::Comparison(const RecordedCase &recorded, std::string file,
                       const Json &run)
    : recorded_(recorded), file_(std::move(file)), run_(run) {}

void Comparison::add(Deviation deviation) {
  ++count_;
  if (deviation.ratio() > 1)
    failures_.push_back(deviation);
  if (deviation.ratio() > largest_.ratio())
    largest_ = std::move(deviation);
}

void Comparison::addNorm(const std::string &what,
                         std::span<const double> values, double expected,
                         double tolerance) {
  add({absl::StrCat("norm of ", what), normOf(values), expected, tolerance});
}

void Comparison::addDifference(const std::string &what,
                               std::vector<double> expected,
                               std::span<const double> values,
                               double tolerance) {
  if (expected.size() != values.size())
    throw Refusal(absl::StrCat(what, " has ", values.size(),
                               " elements, expected ", expected.size()));
  for (size_t i = 0; i < values.size(); ++i)
    expected[i] -= values[i];
  add({absl::StrCat("deviation of ", what), normOf(expected), 0, tolerance});
}

std::vector<Deviation> Comparison::failures() const {
  std::vector<Deviation> sorted = failures_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Deviation &a, const Deviation &b) {
                     return a.ratio() > b.ratio();
                   });
  return sorted;
}

//===-- names -------------------------------------------------------------===//

std::vector<std::string> Comparison::parameters() const {
  std::vector<std::string> names;
  for (const Json &parameter : recorded_.description().at("parameters"))
    if (std::string name = parameter.at("name"); recorded_.aliasOf(file_, name))
      names.push_back(name);
  return names;
}

std::vector<std::string> Comparison::buffers() const {
  std::vector<std::string> names;
  for (const Json &norm :
       recorded_.description().value("batch_norm", Json::array()))
    for (const char *statistic : {".running_mean", ".running_var"})
      names.push_back(norm.at("name").get<std::string>() + statistic);
  return names;
}

const Json &Comparison::described(const std::string &parameter) const {
  for (const Json &each : recorded_.description().at("parameters"))
    if (each.at("name") == parameter)
      return each;
  throw Refusal("case.json describes no parameter " + parameter);
}

/// Puts values into the case's order: some files hold a matrix transposed.
std::vector<double>
Comparison::asRecorded(const std::string &parameter,
                       std::span<const double> values) const {
  std::vector<int64_t> shape = described(parameter).at("shape");
  std::vector<double> result(values.begin(), values.end());
  if (recorded_.aliasOf(file_, parameter)->relation != "transposed")
    return result;
  if (shape.size() != 2 || size_t(shape[0] * shape[1]) != values.size())
    throw Refusal("\"" + parameter +
                  "\" is transposed in the file, but no matrix");
  for (int64_t row = 0; row < shape[0]; ++row)
    for (int64_t column = 0; column < shape[1]; ++column)
      result[row * shape[1] + column] = values[column * shape[0] + row];
  return result;
}

//===-- losses ------------------------------------------------------------===//

std::vector<int> Comparison::batches() const {
  std::vector<int> order = run_.at("batch_order");
  order.resize(stepCount());
  order.push_back(0);
  return order;
}

void Comparison::loss(size_t step, double found) {
  bool after = step >= stepCount();
  double expected =
      after ? run_.at("loss_after_on_batch0") : run_.at("losses").at(step);
  double relative = rounds_ * run_.at("loss_rtol").at(step).get<double>();
  add({after ? "loss after the last step" : absl::StrCat("loss of step ", step),
       found, expected, relative * std::abs(expected)});
}

//===-- gradients ---------------------------------------------------------===//

/// The largest relative change of a gradient's norm by f32 in the recording, of
/// all parameters.
double Comparison::rounding() const {
  const Json &all = recorded_.description();
  double largest = 0, global = all.at("grad0_global_l2");
  for (const Json &parameter : all.at("parameters")) {
    double norm = parameter.at("grad0_l2");
    double exact = parameter.value("grad0_l2_fp64", norm);
    if (norm > 1e-6 * global)
      largest = std::max(largest, std::abs(norm - exact) / norm);
  }
  return largest;
}

/// Returns the tolerances of one element and of the norm. Small cases state the
/// noise, which is the distance of f32 runs from f64. The recording has that
/// error, and a sum of the same terms in another order kOtherOrder times as
/// much (why: record_case's README); both have at least two ulp of the largest
/// element (a few runs may all round alike). In a norm the errors of elements
/// average out. Full-size cases state no noise. There an error that changes a
/// norm by a share `r` is about sqrt(2 r) of the gradient, because it is nearly
/// at a right angle to it.
Comparison::Tolerance
Comparison::gradientTolerance(const Json &parameter) const {
  double root = 1;
  for (int64_t extent : parameter.at("shape"))
    root *= extent;
  root = std::sqrt(root);
  if (parameter.contains("grad0_max_abs_dev_fp64")) {
    double noise = parameter["grad0_max_abs_dev_fp64"];
    double least = 1e-9 + 0x1p-22 * parameter.value("grad0_maxabs", 0.0);
    double element = (1 + kOtherOrder) * noise + least;
    return {element, std::max(element, (2 * noise + least) * root)};
  }
  const Json &all = recorded_.description();
  double norm = parameter.at("grad0_l2"), moved = rounding();
  double floor = 1e-5 * all.at("grad0_global_l2").get<double>() /
                 std::sqrt(all.at("parameters_total").get<double>());
  return {(1e-3 + 3 * std::sqrt(2 * moved)) * norm / root + floor,
          (1e-3 + 3 * moved) * norm + floor * root};
}

void Comparison::gradient(const std::string &parameter,
                          std::span<const double> values) {
  const Json &description = described(parameter);
  std::vector<double> found = asRecorded(parameter, values);
  std::string what = absl::StrCat("gradient of ", parameter);
  auto [element, norm] = gradientTolerance(description);
  element *= rounds_;
  addNorm(what, found, description.at("grad0_l2"), rounds_ * norm);
  std::vector<double> expected = description.at("grad0_first8");
  if (const auto *all = recorded_.expected("grad0." + parameter))
    expected = toDoubles(*all);
  for (size_t i = 0; i < expected.size() && i < found.size(); ++i)
    add({absl::StrCat(what, "[", i, "]"), found[i], expected[i], element});
}

//===-- after the run -----------------------------------------------------===//

/// Whether the recording lists a state as too uncertain to compare.
bool Comparison::isListedNoise(const std::string &state) const {
  return run_.value("final_param_l2_drift_without_rtol", Json::object())
      .contains(state);
}

/// Whether the gradient is zero but for rounding, which Adam scales up.
bool Comparison::isNoise(const std::string &parameter) const {
  if (isListedNoise(parameter))
    return true;
  double all = recorded_.description().at("grad0_global_l2");
  return !run_.contains("final_param_l2_rtol") &&
         described(parameter).at("grad0_l2").get<double>() < 1e-6 * all;
}

/// The tolerance of a parameter's norm. Full-size cases state none; there it is
/// the tolerance of the last loss plus a share of the largest distance that the
/// optimizer can cover.
double Comparison::finalTolerance(const std::string &parameter,
                                  double norm) const {
  if (run_.contains("final_param_l2_rtol"))
    return run_["final_param_l2_rtol"].get<double>() * norm;
  double elements = 1;
  for (int64_t extent : described(parameter).at("shape"))
    elements *= extent;
  double reach = run_.at("optimizer").at("lr").get<double>() * stepCount();
  return run_.at("loss_rtol").back().get<double>() * norm +
         0.02 * reach * std::sqrt(elements);
}

void Comparison::finalParameter(const std::string &parameter,
                                std::span<const double> values) {
  const Json &norms = run_.at("final_param_l2");
  if (isNoise(parameter) || !norms.contains(parameter))
    return;
  std::vector<double> found = asRecorded(parameter, values);
  double norm = norms[parameter],
         tolerance = rounds_ * finalTolerance(parameter, norm);
  addNorm("final " + parameter, found, norm, tolerance);
  std::string name =
      absl::StrCat(run_.at("id").get<std::string>(), ".final.", parameter);
  if (const auto *all = recorded_.expected(name))
    addDifference("final " + parameter, toDoubles(*all), found, tolerance);
}

const runtime::NamedTensor *
Comparison::expectedBuffer(absl::string_view name) const {
  return recorded_.expected(
      absl::StrCat(run_.at("id").get<std::string>(), ".torch.", name));
}

/// The magnitude to which rounding is relative: for a mean, the spread of the
/// averaged values counts, too.
double Comparison::scaleOfBuffer(const std::string &buffer) const {
  double scale = normOf(toDoubles(*expectedBuffer(buffer)));
  absl::string_view norm = buffer;
  if (!absl::ConsumeSuffix(&norm, ".running_mean"))
    return scale;
  const auto *variances = expectedBuffer(absl::StrCat(norm, ".running_var"));
  if (!variances)
    return scale;
  std::vector<double> deviations = toDoubles(*variances);
  for (double &value : deviations)
    value = std::sqrt(std::abs(value));
  return scale + normOf(deviations);
}

/// The tolerance is at most half of the way that a statistic moved, so that one
/// that never moved fails. But it is at least the effect of rounding alone,
/// which for a mean of zero is the whole way, and for uncertain statistics some
/// multiples of the distance of the recording's f32 runs from f64.
double Comparison::bufferTolerance(const std::string &buffer,
                                   double way) const {
  constexpr double kRunsApart = 3;
  double scale = scaleOfBuffer(buffer);
  double tolerance = rounds_ * run_.value("final_param_l2_rtol", 1e-4) * scale;
  double least = std::max(way / 2, rounds_ * kRounding * scale);
  if (isListedNoise(buffer)) {
    const Json &drift = run_.at("final_param_l2_drift_without_rtol").at(buffer);
    double moved = drift.is_number() ? drift.get<double>() : 0;
    return std::max(least, rounds_ * kRunsApart * moved * scale);
  }
  return way > 0 ? std::min(tolerance, least) : tolerance;
}

/// Compares a statistic. PyTorch's running variance divides by N - 1, as ours
/// does by default.
void Comparison::finalBuffer(const std::string &buffer,
                             std::span<const double> initial,
                             std::span<const double> values) {
  const auto *all = expectedBuffer(buffer);
  if (!all)
    return;
  std::vector<double> expected = toDoubles(*all), way = expected;
  for (size_t i = 0; i < way.size() && i < initial.size(); ++i)
    way[i] -= initial[i];
  double went = normOf(way), tolerance = bufferTolerance(buffer, went);
  // Noise moves every statistic, so one that is equal to its initial value to
  // the bit was never written.
  if (went > kRounding * scaleOfBuffer(buffer) &&
      std::ranges::equal(initial, values))
    tolerance = std::min(tolerance, went / 2);
  addDifference("running statistic " + buffer, expected, values, tolerance);
}

} // namespace gradus::check
