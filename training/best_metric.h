// The metric of the test data that chooses the best state, and the number of
// tests since.

#pragma once

#include "runtime/status.h"
#include "training/metric.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace gradus::training {

class BestMetric {
public:
  /// Parses "accuracy", "loss:min" or "accuracy:max". Without a direction,
  /// accuracy, top5, f1 and r2 (also of one output, "logits_accuracy") are
  /// better when larger, all others when smaller.
  static runtime::StatusOr<BestMetric> parse(const std::string &text);

  const std::string &name() const { return name_; }
  /// Fails with a list of the metrics if this one is not among them.
  runtime::Status verifyIsAmong(const std::vector<std::string> &metrics) const;
  /// Whether these figures are the best so far. A NaN never is.
  bool update(const std::vector<Metric> &metrics, int64_t step);

  std::optional<double> value() const { return value_; }
  int64_t step() const { return step_; }
  /// The number of evaluations since the best one.
  int64_t stale() const { return stale_; }
  /// The best value in words: "accuracy 0.9722 of step 440".
  std::string text() const;

  nlohmann::ordered_json toJson() const;
  /// Continues from a checkpoint's value; that of another metric, or of another
  /// form, is ignored.
  void restore(const nlohmann::json &json);

private:
  BestMetric() = default;

  std::string name_;
  bool larger_ = false;
  std::optional<double> value_;
  int64_t step_ = 0, stale_ = 0;
};

} // namespace gradus::training
