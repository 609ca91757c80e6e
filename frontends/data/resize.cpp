// Weights are computed in f64 and add up to one; sums are in f32, in order.

#include "frontends/data/resize.h"

#include <algorithm>
#include <cmath>

namespace gradus::data {

std::vector<Taps> tapsOf(int64_t size, int64_t scaled, int64_t wanted) {
  double ratio = double(size) / scaled, reach = std::max(1.0, ratio);
  std::vector<Taps> all(wanted);
  for (int64_t i = 0; i < wanted; ++i) {
    double middle = ((scaled - wanted) / 2 + i + 0.5) * ratio;
    int64_t first = std::max<int64_t>(0, std::floor(middle - reach)),
            end = std::min<int64_t>(size, std::ceil(middle + reach));
    double sum = 0;
    std::vector<double> weights;
    for (int64_t x = first; x < end; ++x) {
      double far = std::abs(x + 0.5 - middle) / reach;
      weights.push_back(std::max(0.0, 1 - far));
      sum += weights.back();
    }
    all[i].first = first;
    for (double weight : weights)
      all[i].weights.push_back(float(weight / sum));
  }
  return all;
}

/// Resamples [rows, width] to [rows, taps].
static std::vector<float> alongRows(const std::vector<float> &from,
                                    int64_t width,
                                    const std::vector<Taps> &taps) {
  std::vector<float> to;
  to.reserve(from.size() / width * taps.size());
  for (size_t row = 0; row < from.size(); row += width)
    for (const Taps &tap : taps) {
      float sum = 0;
      for (size_t i = 0; i < tap.weights.size(); ++i)
        sum += tap.weights[i] * from[row + tap.first + i];
      to.push_back(sum);
    }
  return to;
}

/// Resamples [rows, width] to [taps, width], times `unit`.
static void alongColumns(const std::vector<float> &from, int64_t width,
                         const std::vector<Taps> &taps, float unit, float *to) {
  for (const Taps &tap : taps)
    for (int64_t x = 0; x < width; ++x) {
      float sum = 0;
      for (size_t i = 0; i < tap.weights.size(); ++i)
        sum += tap.weights[i] * from[(tap.first + i) * width + x];
      *to++ = sum * unit;
    }
}

void resize(const std::vector<float> &plane, int64_t width,
            const std::vector<Taps> &rows, const std::vector<Taps> &columns,
            float unit, float *to) {
  alongColumns(alongRows(plane, width, columns), columns.size(), rows, unit,
               to);
}

} // namespace gradus::data
