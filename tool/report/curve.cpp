// Joins neighbours when there are too many buckets, so that each keeps the
// extremes of its steps.

#include "tool/report/curve.h"

#include <algorithm>
#include <cmath>

using nlohmann::ordered_json;

namespace gradus::cli {

static constexpr size_t kMostBuckets = 1000;

void Curve::Bucket::add(const Bucket &later) {
  if (later.low.value < low.value)
    low = later.low;
  if (later.high.value > high.value)
    high = later.high;
}

void Curve::add(int64_t step, double value) {
  ++values_;
  if (!std::isfinite(value)) {
    if (notFinite_++ == 0)
      firstNotFinite_ = step;
    return;
  }
  last_ = {step, value};
  if (buckets_.empty())
    first_ = last_;
  Bucket bucket{step / width_, last_, last_};
  if (!buckets_.empty() && buckets_.back().index == bucket.index)
    buckets_.back().add(bucket);
  else
    buckets_.push_back(bucket);
  while (buckets_.size() > kMostBuckets)
    widen();
}

void Curve::widen() {
  width_ *= 2;
  std::vector<Bucket> wide;
  for (Bucket &bucket : buckets_) {
    bucket.index /= 2;
    if (!wide.empty() && wide.back().index == bucket.index)
      wide.back().add(bucket);
    else
      wide.push_back(bucket);
  }
  buckets_ = std::move(wide);
}

std::vector<Curve::Point> Curve::points() const {
  std::vector<Point> points;
  auto add = [&](const Point &point) {
    if (points.empty() || points.back().step < point.step)
      points.push_back(point);
  };
  if (buckets_.empty())
    return points;
  add(first_);
  for (const Bucket &bucket : buckets_) {
    add(std::min(bucket.low, bucket.high,
                 [](auto &a, auto &b) { return a.step < b.step; }));
    add(std::max(bucket.low, bucket.high,
                 [](auto &a, auto &b) { return a.step < b.step; }));
  }
  add(last_);
  return points;
}

ordered_json Curve::json() const {
  ordered_json list = ordered_json::array();
  for (const Point &point : points())
    list.push_back({point.step, point.value});
  ordered_json object = {{"points", list},
                         {"values", values_},
                         {"width", width_},
                         {"not_finite", notFinite_},
                         {"first_not_finite", nullptr}};
  if (notFinite_)
    object["first_not_finite"] = firstNotFinite_;
  return object;
}

void Curves::add(const std::string &of, int64_t step,
                 const std::vector<training::Metric> &figures) {
  for (const training::Metric &figure : figures) {
    auto curve = std::find_if(curves_.begin(), curves_.end(), [&](auto &each) {
      return each.first.first == of && each.first.second == figure.name;
    });
    if (curve == curves_.end())
      curve = curves_.insert(curves_.end(), {{of, figure.name}, {}});
    curve->second.add(step, figure.value);
  }
}

ordered_json Curves::json() const {
  ordered_json list = ordered_json::array();
  for (const auto &[key, curve] : curves_) {
    ordered_json object = {{"of", key.first}, {"name", key.second}};
    object.update(curve.json());
    list.push_back(std::move(object));
  }
  return list;
}

} // namespace gradus::cli
