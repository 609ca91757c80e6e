// Loops over elements of f32 and f64.

#include "runtime/collectives/adasum.h"

#include <algorithm>
#include <limits>

namespace gradus::runtime {

/// Adds elements to the next lanes: at most as many as are left.
template <typename Number>
void ProductSum::addNext(const Number *a, const Number *b, size_t count) {
  for (size_t i = 0; i < count; ++i, ++next_) {
    double x = a[i], y = b[i];
    ab_[next_] += x * y;
    aa_[next_] += x * x;
    bb_[next_] += y * y;
  }
  next_ %= kLanes;
}

template <typename Number>
void ProductSum::addEach(const Number *a, const Number *b, size_t count) {
  size_t first = std::min(count, (kLanes - next_) % kLanes);
  addNext(a, b, first);
  size_t at = first;
  Lanes ab = ab_, aa = aa_, bb = bb_;
  for (; at + kLanes <= count; at += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane) {
      double x = a[at + lane], y = b[at + lane];
      ab[lane] += x * y;
      aa[lane] += x * x;
      bb[lane] += y * y;
    }
  ab_ = ab;
  aa_ = aa;
  bb_ = bb;
  addNext(a + at, b + at, count - at);
}

void ProductSum::add(DType type, const void *a, const void *b, size_t count) {
  if (type == DType::f64)
    addEach(static_cast<const double *>(a), static_cast<const double *>(b),
            count);
  else
    addEach(static_cast<const float *>(a), static_cast<const float *>(b),
            count);
}

Products ProductSum::total() const {
  auto sum = [](Lanes lanes) {
    for (size_t half = kLanes / 2; half > 0; half /= 2)
      for (size_t lane = 0; lane < half; ++lane)
        lanes[lane] += lanes[lane + half];
    return lanes[0];
  };
  return {sum(ab_), sum(aa_), sum(bb_)};
}

Factors adasumFactors(const Products &products) {
  constexpr double kLeast = 1.4916681462400413e-154; // the root of 2^-1022
  auto factor = [&](double square) {
    return square < kLeast ? 1 : 1 - products.ab / (2 * square);
  };
  return {factor(products.aa), factor(products.bb)};
}

template <typename Number>
static void combineEach(const Factors &factors, const Number *a,
                        const Number *b, Number *result, size_t count) {
  double forA = factors.a, forB = factors.b;
  for (size_t i = 0; i < count; ++i) {
    auto sum = static_cast<Number>(forA * a[i] + forB * b[i]);
    result[i] = sum == sum ? sum : std::numeric_limits<Number>::quiet_NaN();
  }
}

void combineBy(const Factors &factors, DType type, const void *a, const void *b,
               void *result, size_t count) {
  if (type == DType::f64)
    combineEach(factors, static_cast<const double *>(a),
                static_cast<const double *>(b), static_cast<double *>(result),
                count);
  else
    combineEach(factors, static_cast<const float *>(a),
                static_cast<const float *>(b), static_cast<float *>(result),
                count);
}

template <typename Number>
static void divideEach(Number *numbers, size_t count, double by) {
  for (size_t i = 0; i < count; ++i)
    numbers[i] = static_cast<Number>(numbers[i] / by);
}

void divide(DType type, void *data, size_t count, double by) {
  if (type == DType::f64)
    divideEach(static_cast<double *>(data), count, by);
  else
    divideEach(static_cast<float *>(data), count, by);
}

} // namespace gradus::runtime
