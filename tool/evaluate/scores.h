// Scores of predictions: a confusion matrix of classes, or the errors of
// numbers.

#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gradus::cli {

/// Counts for each class how often it was predicted as which class.
class Confusion {
public:
  /// Classes are named by `names` if there is one for each, else by number.
  explicit Confusion(int64_t classes, std::vector<std::string> names = {})
      : classes_(classes), names_(std::move(names)),
        counts_(classes * classes) {}

  /// Counts a sample; both must be in [0, classes), others do not count.
  void add(int64_t label, int64_t predicted);

  /// The counts, for adding those of other processes.
  std::span<int64_t> counts() { return counts_; }

  /// Precision: of the samples predicted as the class, the fraction that is of
  /// it. Recall: of the samples of the class, the fraction predicted as it. NaN
  /// if there are none.
  double precision(int64_t of) const;
  double recall(int64_t of) const;

  /// Up to 20 classes the matrix, with a row for each label; beyond, precision,
  /// recall and label counts of each class that occurs.
  std::string text() const;
  /// The scores as JSON: {"confusion": rows of labels, "precision": [...],
  /// "recall": [...]}, and "classes" if they have names.
  nlohmann::ordered_json json() const;
  /// A report gets the same, the matrix of up to 100 classes only, and also
  /// "kind", "counts" of labels, and the 20 most frequent "confusions".
  nlohmann::ordered_json reportJson() const;

private:
  nlohmann::ordered_json confusionsJson() const;
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

/// The errors of numbers against their targets.
class Errors {
public:
  /// The errors of all numbers together, of parts in their order. The
  /// deviations are added as in Chan, Golub and LeVeque, 1979.
  static Errors of(const std::vector<Errors> &parts);

  void add(double target, double predicted);

  double meanAbsolute() const;
  double rootMeanSquare() const;
  /// Computes 1 - (squared errors) / (squared deviations of the targets from
  /// their mean); NaN if all targets are equal.
  double r2() const;

  std::string text() const;
  /// The scores as JSON: {"mae": ..., "rmse": ..., "r2": ...}.
  nlohmann::ordered_json json() const;
  /// A report gets the same with "kind".
  nlohmann::ordered_json reportJson() const;

private:
  int64_t count_ = 0;
  double absolute_ = 0, squares_ = 0;
  double mean_ = 0, deviations_ = 0; // of the targets (Welford, 1962)
};

} // namespace gradus::cli
