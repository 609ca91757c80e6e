// Weights are computed in f64 and add up to one; sums are in f32, in order, for
// several numbers at a time: the bits do not depend on how many.

#include "training/data/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gradus::data {
namespace {

constexpr int64_t kLanes = 4;   // numbers of a pixel that are summed at once
constexpr int64_t kBlock = 16;  // numbers of a row that are
constexpr int64_t kBehind = 16; // numbers that may be read after a row's last

/// Adds the taps of one result.
void addTap(int64_t size, double middle, double reach, Taps &taps) {
  int64_t first = std::max<int64_t>(0, std::floor(middle - reach)),
          end = std::min<int64_t>(size, std::ceil(middle + reach));
  auto weightOf = [&](int64_t x) {
    return std::max(0.0, 1 - std::abs(x + 0.5 - middle) / reach);
  };
  double sum = 0;
  for (int64_t x = first; x < end; ++x)
    sum += weightOf(x);
  taps.each.push_back({first, end - first, std::ssize(taps.weights)});
  for (int64_t x = first; x < end; ++x)
    taps.weights.push_back(float(weightOf(x) / sum));
}

/// Sums pixels of `channels` numbers, as many as there are lanes: those beyond
/// `channels` are of the next pixel, and are overwritten by the next result.
template <int64_t channels, int64_t lanes>
void alongRow(const float *row, const Taps &taps, float *to) {
  for (const Taps::Tap &tap : taps.each) {
    const float *from = row + tap.first * channels;
    const float *weights = taps.weights.data() + tap.at;
    float sums[lanes] = {};
    for (int64_t i = 0; i < tap.count; ++i)
      for (int64_t lane = 0; lane < lanes; ++lane)
        sums[lane] += weights[i] * from[i * channels + lane];
    std::memcpy(to, sums, sizeof(sums));
    to += channels;
  }
}

/// The rows, scaled along the columns' axis, that the next results need.
template <typename Number> class Ring {
public:
  Ring(const Pixels<Number> &from, ResizeMemory &memory)
      : from_(from), memory_(memory) {
    for (const Taps::Tap &tap : memory.rows.each)
      held_ = std::max(held_, tap.count);
    stride_ = std::ssize(memory.columns.each) * from.channels + kBehind;
    memory.ring.resize(held_ * stride_);
    memory.row.resize(from.width * from.channels + kBehind);
    memory.sums.resize(stride_);
  }

  const float *operator[](int64_t row) const {
    return memory_.ring.data() + row % held_ * stride_;
  }
  /// Scales the rows from `first` on before `end` that are not yet.
  void reach(int64_t first, int64_t end) {
    for (ready_ = std::max(ready_, first); ready_ < end; ++ready_)
      scale(ready_);
  }

private:
  void scale(int64_t row) {
    const Number *numbers = from_.first + row * from_.stride;
    float *floats = memory_.row.data();
    for (int64_t i = 0; i < from_.width * from_.channels; ++i)
      floats[i] = numbers[i];
    float *to = memory_.ring.data() + row % held_ * stride_;
    if (from_.channels == 3)
      alongRow<3, kLanes>(floats, memory_.columns, to);
    else
      alongRow<1, 1>(floats, memory_.columns, to);
  }

  const Pixels<Number> &from_;
  ResizeMemory &memory_;
  int64_t held_ = 1, stride_ = 0, ready_ = 0;
};

/// Sums rows of `size` numbers into `to`, times `unit`.
template <typename Number>
void alongColumn(const Ring<Number> &rows, const Taps::Tap &tap,
                 const float *weights, int64_t size, float unit, float *to) {
  for (int64_t x = 0; x < size; x += kBlock) {
    float sums[kBlock] = {};
    for (int64_t i = 0; i < tap.count; ++i) {
      const float *row = rows[tap.first + i] + x;
      for (int64_t lane = 0; lane < kBlock; ++lane)
        sums[lane] += weights[i] * row[lane];
    }
    for (int64_t lane = 0; lane < kBlock; ++lane)
      to[x + lane] = sums[lane] * unit;
  }
}

template <typename Number>
void scaleBoth(const Pixels<Number> &from, float unit, ResizeMemory &memory,
               float *to) {
  Ring<Number> ring(from, memory);
  const int64_t columns = std::ssize(memory.columns.each),
                plane = std::ssize(memory.rows.each) * columns;
  const float *sums = memory.sums.data();
  for (const Taps::Tap &tap : memory.rows.each) {
    ring.reach(tap.first, tap.first + tap.count);
    alongColumn(ring, tap, memory.rows.weights.data() + tap.at,
                columns * from.channels, unit, memory.sums.data());
    for (int64_t channel = 0; channel < from.channels; ++channel)
      for (int64_t x = 0; x < columns; ++x)
        to[channel * plane + x] = sums[x * from.channels + channel];
    to += columns;
  }
}

} // namespace

void setTaps(const Range &range, int64_t size, int64_t scaled, int64_t wanted,
             Taps &taps) {
  taps.each.clear();
  taps.weights.clear();
  double ratio = range.size / scaled, reach = std::max(1.0, ratio);
  for (int64_t i = 0; i < wanted; ++i) {
    double middle = range.begin + ((scaled - wanted) / 2 + i + 0.5) * ratio;
    addTap(size, middle, reach, taps);
  }
}

void resize(const Pixels<uint8_t> &from, float unit, ResizeMemory &memory,
            float *to) {
  scaleBoth(from, unit, memory, to);
}

void resize(const Pixels<float> &from, float unit, ResizeMemory &memory,
            float *to) {
  scaleBoth(from, unit, memory, to);
}

} // namespace gradus::data
