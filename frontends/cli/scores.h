// What predictions are worth, counted one by one: a confusion matrix of
// classes, or the errors of numbers.

#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::cli {

/// How often each class was taken for which.
class Confusion {
public:
  /// Classes are called by `names` where there is one of each, or by number.
  explicit Confusion(int64_t classes, std::vector<std::string> names = {})
      : classes_(classes), names_(std::move(names)),
        counts_(classes * classes) {}

  /// Both in [0, classes); others do not count.
  void add(int64_t label, int64_t predicted);

  /// Of the samples taken for the class, the part that is of it; of those that
  /// are of it, the part taken for it. NaN where there are none.
  double precision(int64_t of) const;
  double recall(int64_t of) const;

  /// Up to 20 classes the matrix, a row for each label; beyond, precision,
  /// recall and labels of each class that there is.
  std::string text() const;
  /// {"confusion": rows of labels, "precision": [...], "recall": [...]}, and
  /// "classes" where they have names
  nlohmann::ordered_json json() const;

private:
  int64_t at(int64_t label, int64_t predicted) const {
    return counts_[label * classes_ + predicted];
  }
  int64_t rowSum(int64_t label) const;
  int64_t columnSum(int64_t predicted) const;
  std::string nameOf(int64_t of) const;
  std::string matrixText() const;
  std::string classesText() const;

  int64_t classes_;
  std::vector<std::string> names_;
  std::vector<int64_t> counts_; // [label, predicted]
};

/// How far numbers are from their targets.
class Errors {
public:
  void add(double target, double predicted);

  double meanAbsolute() const;
  double rootMeanSquare() const;
  /// 1 - (squared errors) / (squared deviations of the targets from their
  /// mean); NaN where the targets are all equal.
  double r2() const;

  std::string text() const;
  /// {"mae": ..., "rmse": ..., "r2": ...}
  nlohmann::ordered_json json() const;

private:
  int64_t count_ = 0;
  double absolute_ = 0, squares_ = 0;
  double mean_ = 0, deviations_ = 0; // of the targets (Welford, 1962)
};

} // namespace gradus::cli
