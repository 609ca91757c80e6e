// Compares the training of a recorded case with its recorded results, at the
// case's own tolerances.

#pragma once

#include "tool/check/recorded_case.h"

#include <span>
#include <string>
#include <vector>

namespace gradus::check {

/// A recorded number, or the norm of a difference, and what was found.
struct Deviation {
  std::string what; // "gradient of conv1.weight[3]"
  double found = 0, expected = 0, tolerance = 0;

  /// The deviation in tolerances; above 1 is a failure.
  double ratio() const;
  /// Returns "gradient of conv1.weight[3] is 0.1, expected 0.2 +- 0.01".
  std::string text() const;
};

class Comparison {
public:
  Comparison(const RecordedCase &recorded, std::string file, const Json &run);

  /// Allows `times` the rounding that the recording and sums in another order
  /// have, from now on.
  void roundsMore(double times) { rounds_ = times; }

  /// The batches of the steps, and the batch for the loss after the last step.
  std::vector<int> batches() const;
  size_t stepCount() const { return run_.at("losses").size(); }

  /// Compares the loss of a step before its update; step stepCount() is the
  /// loss afterwards.
  void loss(size_t step, double found);
  /// Compares the first step's gradient of a parameter; `values` are in the
  /// file's layout.
  void gradient(const std::string &parameter, std::span<const double> values);
  /// Compares a parameter after the last step.
  void finalParameter(const std::string &parameter,
                      std::span<const double> values);
  /// Compares the change of a running statistic from the first to the last
  /// step.
  void finalBuffer(const std::string &buffer, std::span<const double> initial,
                   std::span<const double> values);

  /// The compared parameters and buffers, by their names in the case.
  std::vector<std::string> parameters() const;
  std::vector<std::string> buffers() const;

  /// All failures, worst first.
  std::vector<Deviation> failures() const;
  /// The largest deviation of all.
  const Deviation &largest() const { return largest_; }
  size_t count() const { return count_; }

private:
  void add(Deviation deviation);
  void addNorm(const std::string &what, std::span<const double> values,
               double expected, double tolerance);
  void addDifference(const std::string &what, std::vector<double> expected,
                     std::span<const double> values, double tolerance);
  std::vector<double> asRecorded(const std::string &parameter,
                                 std::span<const double> values) const;
  struct Tolerance {
    double element, norm;
  };
  Tolerance gradientTolerance(const Json &parameter) const;
  double rounding() const;
  double finalTolerance(const std::string &parameter, double norm) const;
  bool isListedNoise(const std::string &state) const;
  bool isNoise(const std::string &parameter) const;
  const runtime::NamedTensor *expectedBuffer(absl::string_view name) const;
  double scaleOfBuffer(const std::string &buffer) const;
  double bufferTolerance(const std::string &buffer, double way) const;
  const Json &described(const std::string &parameter) const;

  const RecordedCase &recorded_;
  std::string file_;
  const Json &run_;
  double rounds_ = 1; // times as much as in other orders of sums
  Deviation largest_;
  std::vector<Deviation> failures_;
  size_t count_ = 0;
};

} // namespace gradus::check
