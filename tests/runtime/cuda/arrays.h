// Arrays of numbers, exact enough to compare with.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace gradus::runtime::cuda::test {

using Dims = std::vector<int64_t>;

/// Calls `visit` with each index below `dims`, the last axis fastest.
template <typename Visit> void forEachIndex(const Dims &dims, Visit visit) {
  Dims index(dims.size(), 0);
  for (;;) {
    visit(std::as_const(index));
    size_t axis = dims.size();
    while (axis > 0 && ++index[axis - 1] == dims[axis - 1])
      index[--axis] = 0;
    if (axis == 0)
      return;
  }
}

struct Array {
  Dims dims;
  std::vector<double> numbers;

  explicit Array(Dims sizes) : dims(std::move(sizes)) {
    size_t count = 1;
    for (int64_t dim : dims)
      count *= size_t(dim);
    numbers.resize(count);
  }
  double &at(const Dims &index) { return numbers[placeOf(index)]; }
  const double &at(const Dims &index) const { return numbers[placeOf(index)]; }

private:
  size_t placeOf(const Dims &index) const {
    int64_t place = 0;
    for (size_t i = 0; i < dims.size(); ++i)
      place = place * dims[i] + index[i];
    return size_t(place);
  }
};
using Arrays = std::vector<Array>;

//===-- numbers -----------------------------------------------------------===//

/// Multiples of 1/64 in [-1, 1], which bf16 holds too.
inline Array someArray(Dims dims, unsigned seed) {
  Array array(std::move(dims));
  for (double &number : array.numbers) {
    seed = seed * 1664525 + 1013904223;
    number = double(int(seed >> 16) % 65) / 64 * (seed >> 31 ? 1 : -1);
  }
  return array;
}

/// Numbers of 32 digits, more than any of our types keeps, with either sign and
/// in so many binades below 1.
inline Array fullArray(Dims dims, unsigned seed, unsigned binades = 2) {
  Array array(std::move(dims));
  std::mt19937 random(seed);
  for (double &number : array.numbers) {
    double digits = 1 + double(random()) / 0x1p32;
    int exponent = -1 - int(random() % binades);
    number = std::ldexp(random() % 2 ? digits : -digits, exponent);
  }
  return array;
}

template <typename Function> Array mapped(Array array, Function function) {
  for (double &number : array.numbers)
    number = function(number);
  return array;
}

inline Array magnitudesOf(const Array &array) {
  return mapped(array, [](double number) { return std::abs(number); });
}

/// To so many binary digits: 24 are f32, 11 TF32 and f16, 8 bf16.
inline Array rounded(const Array &array, int digits) {
  return mapped(array, [&](double number) {
    int exponent = 0;
    double fraction = std::frexp(number, &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(fraction, digits)),
                      exponent - digits);
  });
}

//===-- comparing ---------------------------------------------------------===//

inline double dot(const Array &a, const Array &b) {
  double sum = 0;
  for (size_t i = 0; i < a.numbers.size(); ++i)
    sum += a.numbers[i] * b.numbers[i];
  return sum;
}

/// d function / d at, element by element; exact where it is quadratic.
template <typename Function>
Array slopesOf(Function function, Array &at, double step = 1e-4) {
  Array slopes(at.dims);
  for (size_t i = 0; i < at.numbers.size(); ++i) {
    double here = at.numbers[i];
    at.numbers[i] = here + step;
    double above = function();
    at.numbers[i] = here - step;
    slopes.numbers[i] = (above - function()) / (2 * step);
    at.numbers[i] = here;
  }
  return slopes;
}

inline void expectNear(const Array &found, const Array &expected,
                       double tolerance) {
  ASSERT_EQ(found.dims, expected.dims);
  for (size_t i = 0; i < found.numbers.size(); ++i)
    ASSERT_NEAR(found.numbers[i], expected.numbers[i], tolerance) << i;
}

} // namespace gradus::runtime::cuda::test
