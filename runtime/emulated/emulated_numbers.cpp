// Visits tensors with any strides, in one loop along the last axis.

#include "runtime/emulated/emulated_numbers.h"

#include "runtime/float_conversion.h"
#include "runtime/tensor_type.h"

#include <algorithm>
#include <cmath>

namespace gradus::runtime::cuda {

namespace {

/// Calls `visit` with the offset of the first element of each row.
template <typename Visit>
void forEachRow(const StridedTensor &tensor, size_t axis, int64_t place,
                Visit &visit) {
  if (axis + 1 >= tensor.rank())
    return visit(place);
  for (int64_t i = 0; i < tensor.dims[axis]; ++i)
    forEachRow(tensor, axis + 1, place + i * tensor.strides[axis], visit);
}

/// Calls `visit` with each element and its float.
template <typename T, typename Float, typename Visit>
void forEachElement(const StridedTensor &tensor, T *elements, Float *numbers,
                    Visit visit) {
  int64_t count = tensor.dims.back(), stride = tensor.strides.back();
  auto visitRow = [&](int64_t place) {
    for (int64_t i = 0; i < count; ++i)
      visit(elements[place + i * stride], numbers[i]);
    numbers += count;
  };
  forEachRow(tensor, 0, 0, visitRow);
}

float activated(artifact::Activation activation, float x) {
  using artifact::Activation;
  constexpr float kSqrtHalf = 0.70710678f, kSqrt2OverPi = 0.79788456f;
  switch (activation) {
  case Activation::none:
    return x;
  case Activation::relu:
    return x > 0 || x != x ? x : 0; // NaN stays
  case Activation::tanh:
    return std::tanh(x);
  case Activation::gelu_tanh:
    return 0.5f * x *
           (1 + std::tanh(kSqrt2OverPi * (x + 0.044715f * x * x * x)));
  case Activation::gelu_erf:
    return 0.5f * x * (1 + std::erf(kSqrtHalf * x));
  case Activation::sigmoid:
    return 1 / (1 + std::exp(-x));
  case Activation::gelu_tanh_gradient:
    break; // not a function of one number
  }
  return x;
}

/// The derivative of gelu_tanh, (1 + t + x (1 - t^2) u') / 2, with t = tanh u,
/// u = c (x + k x^3).
float geluTanhSlope(float x) {
  constexpr float c = 0.79788456f, k = 0.044715f; // c = sqrt(2 / pi)
  float t = std::tanh(c * (x + k * x * x * x));
  return 0.5f * (1 + t + x * (1 - t * t) * c * (1 + 3 * k * x * x));
}

} // namespace

//===-- tensors -----------------------------------------------------------===//

bool isNumberType(artifact::DType dtype) {
  return bytesOf(dtype) <= 4 &&
         visitFloat(nameOf(dtype), [](auto) { return true; });
}

void readNumbers(const StridedTensor &tensor, DevicePointer from, float *to) {
  visitFloat(nameOf(tensor.dtype), [&](auto zero) {
    auto *elements = std::bit_cast<const decltype(zero) *>(from);
    forEachElement(tensor, elements, to, [](const auto &element, float &to) {
      to = static_cast<float>(static_cast<double>(element));
    });
    return true;
  });
}

Numbers numbersAt(const StridedTensor &tensor, DevicePointer from) {
  int64_t count = 1;
  for (int64_t dim : tensor.dims)
    count *= dim;
  Numbers numbers(size_t(count), 0);
  readNumbers(tensor, from, numbers.data());
  return numbers;
}

void writeNumbers(const StridedTensor &tensor, const float *from,
                  DevicePointer to) {
  visitFloat(nameOf(tensor.dtype), [&](auto zero) {
    using Element = decltype(zero);
    auto *elements = std::bit_cast<Element *>(to);
    forEachElement(tensor, elements, from, [](Element &to, float number) {
      to = static_cast<Element>(static_cast<double>(number));
    });
    return true;
  });
}

StridedTensor permuted(const StridedTensor &tensor,
                       const std::vector<size_t> &axes) {
  StridedTensor made{tensor.dtype, {}, {}};
  for (size_t axis : axes) {
    made.dims.push_back(tensor.dims[axis]);
    made.strides.push_back(tensor.strides[axis]);
  }
  return made;
}

StridedTensor broadcast(StridedTensor tensor,
                        const std::vector<int64_t> &dims) {
  for (size_t i = 0; i < dims.size(); ++i)
    if (tensor.dims[i] != dims[i])
      tensor.strides[i] = 0;
  tensor.dims = dims;
  return tensor;
}

//===-- matrices ----------------------------------------------------------===//

Matrices::Matrices(const StridedTensor &tensor) : one_(tensor) {
  size_t others = tensor.rank() - 2;
  one_.dims.erase(one_.dims.begin(), one_.dims.begin() + ptrdiff_t(others));
  one_.strides.erase(one_.strides.begin(),
                     one_.strides.begin() + ptrdiff_t(others));
  // The tensor of all first rows.
  StridedTensor firsts = tensor;
  firsts.dims.resize(others + 1);
  auto add = [&](int64_t place) { places_.push_back(place); };
  forEachRow(firsts, 0, 0, add);
}

Matrices Matrices::transposed(const StridedTensor &tensor) {
  StridedTensor other = tensor;
  std::swap(other.dims.end()[-1], other.dims.end()[-2]);
  std::swap(other.strides.end()[-1], other.strides.end()[-2]);
  return Matrices(other);
}

DevicePointer Matrices::addressOf(DevicePointer tensor, size_t i) const {
  return tensor + uint64_t(places_[i]) * bytesOf(one_.dtype);
}

void Matrices::read(DevicePointer from, size_t i, Numbers &numbers) const {
  numbers.resize(size_t(rows() * columns()));
  readNumbers(one_, addressOf(from, i), numbers.data());
}

void Matrices::write(const Numbers &numbers, DevicePointer to, size_t i) const {
  writeNumbers(one_, numbers.data(), addressOf(to, i));
}

//===-- activations -------------------------------------------------------===//

void activate(artifact::Activation activation, Numbers &numbers) {
  if (activation != artifact::Activation::none)
    for (float &number : numbers)
      number = activated(activation, number);
}

void multiplyByGeluSlopes(const Numbers &at, Numbers &numbers) {
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] *= geluTanhSlope(at[i]);
}

} // namespace gradus::runtime::cuda
