// Curves of values by step, in bounded memory however long a run is.

#pragma once

#include "training/metric.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gradus::cli {

/// Keeps every value while there are at most 1000, and from then on the least
/// and the greatest of every `width` steps, where `width` doubles as often as
/// that is needed. What is kept is a function of steps and values alone. The
/// first and the last value are always there.
class Curve {
public:
  /// Adds a value; steps ascend. One that is not finite is counted.
  void add(int64_t step, double value);

  /// The curve as JSON: {"points": [[step, value]...], "values": how many there
  /// were, "width": ..., "not_finite": ..., "first_not_finite": a step or
  /// null}.
  nlohmann::ordered_json json() const;

private:
  struct Point {
    int64_t step = 0;
    double value = 0;
  };
  /// A bucket holds `width_` steps from `index * width_` on.
  struct Bucket {
    int64_t index = 0;
    Point low, high;
    void add(const Bucket &later);
  };

  void widen();
  std::vector<Point> points() const;

  std::vector<Bucket> buckets_;
  Point first_, last_; // of the finite values
  int64_t width_ = 1, values_ = 0, notFinite_ = 0, firstNotFinite_ = 0;
};

/// The curves of a run, by what they are of ("step", "epoch", "test", "piece")
/// and their names, in the order in which they came.
class Curves {
public:
  void add(const std::string &of, int64_t step,
           const std::vector<training::Metric> &figures);

  /// A list of curves as JSON, each with "of" and "name".
  nlohmann::ordered_json json() const;

private:
  std::vector<std::pair<std::pair<std::string, std::string>, Curve>> curves_;
};

} // namespace gradus::cli
