// The samples of a data set that a model does worst on.

#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gradus::cli {

/// A sample with its loss. The others are numbers or null: what its label says,
/// what was predicted, and the probability that was given to the label.
struct SampleResult {
  int64_t sample = 0;
  double loss = 0;
  nlohmann::ordered_json label = nullptr, predicted = nullptr,
                         probability = nullptr;
};

/// Keeps those with the greatest losses: NaN counts as greater than all
/// numbers, and of equal ones the first is kept.
class WorstSamples {
public:
  explicit WorstSamples(size_t most) : most_(most) {}

  /// Adds a sample if it is among the worst so far; only then its picture is
  /// drawn.
  void add(const SampleResult &result,
           const std::function<std::string()> &picture);

  /// A list of {"sample", "loss", "label", "predicted", "probability",
  /// "picture"}, the worst first.
  nlohmann::ordered_json json() const;

private:
  struct Kept : SampleResult {
    std::string picture;
  };

  size_t most_;
  std::vector<Kept> kept_; // sorted, the worst first
};

} // namespace gradus::cli
