// AdaSum of two vectors (Maleki et al., MLSys 2021), element by element:
//
//   AdaSum(a, b) = (1 - a.b / (2 |a|^2)) a + (1 - a.b / (2 |b|^2)) b
//
// It is the sum where they are orthogonal, and the mean where they are equal.
// Products are added up in f64; a vector of zeros adds nothing.
#pragma once

#include "runtime/tensor_type.h"

#include <array>
#include <cstddef>

namespace gradus::runtime {

/// The dot products of two vectors a and b, or parts of them.
struct Products {
  double ab = 0, aa = 0, bb = 0;
};

/// Adds up the products of elements, which come piece by piece in their order.
/// The bits do not depend on where pieces end.
class ProductSum {
public:
  /// Adds the products of elements of f32 or f64.
  void add(DType type, const void *a, const void *b, size_t count);
  Products total() const;

private:
  static constexpr size_t kLanes = 8;
  using Lanes = std::array<double, kLanes>;

  template <typename Number>
  void addEach(const Number *a, const Number *b, size_t count);
  template <typename Number>
  void addNext(const Number *a, const Number *b, size_t count);

  Lanes ab_{}, aa_{}, bb_{};
  size_t next_ = 0; // the lane of the next element
};

/// The factors of two vectors.
struct Factors {
  double a = 1, b = 1;
};
/// Factors of AdaSum. That of a vector whose square is below the root of the
/// smallest number, and so has no digits to divide by, is 1.
Factors adasumFactors(const Products &products);

/// Sets `result` to factors.a * a + factors.b * b, made in f64; the result may
/// be one of both. A NaN is always the same NaN.
void combineBy(const Factors &factors, DType type, const void *a, const void *b,
               void *result, size_t count);

/// Divides each element by a number.
void divide(DType type, void *data, size_t count, double by);

} // namespace gradus::runtime
