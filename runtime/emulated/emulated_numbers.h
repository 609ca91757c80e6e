// Tensors of the emulated GPU's library as densely packed host floats.
#pragma once

#include "runtime/cuda/driver/driver_abi.h"
#include "runtime/cuda/libraries/library_tensor.h"

namespace gradus::runtime::cuda {

using Numbers = std::vector<float>;

/// Whether tensors of this type are supported: f32, f16 and bf16.
bool isNumberType(artifact::DType dtype);

/// Reads all elements, with the last axis fastest.
void readNumbers(const StridedTensor &tensor, DevicePointer from, float *to);
Numbers numbersAt(const StridedTensor &tensor, DevicePointer from);
/// Writes the elements, rounding each once to the tensor's type.
void writeNumbers(const StridedTensor &tensor, const float *from,
                  DevicePointer to);

/// The same tensor with its axes in another order.
StridedTensor permuted(const StridedTensor &tensor,
                       const std::vector<size_t> &axes);
/// Repeats axes of size 1 to the sizes in `dims`.
StridedTensor broadcast(StridedTensor tensor, const std::vector<int64_t> &dims);

/// A tensor as matrices of its last two axes, one for each index of the others.
class Matrices {
public:
  explicit Matrices(const StridedTensor &tensor);
  /// Creates matrices with rows and columns exchanged.
  static Matrices transposed(const StridedTensor &tensor);

  size_t count() const { return places_.size(); }
  int64_t rows() const { return one_.dims[0]; }
  int64_t columns() const { return one_.dims[1]; }
  /// Whether matrices i and i - 1 are the same memory.
  bool isRepeated(size_t i) const {
    return i > 0 && places_[i] == places_[i - 1];
  }

  /// Reads or writes matrix i of a tensor at an address; `numbers` is resized.
  void read(DevicePointer from, size_t i, Numbers &numbers) const;
  void write(const Numbers &numbers, DevicePointer to, size_t i) const;

private:
  DevicePointer addressOf(DevicePointer tensor, size_t i) const;

  StridedTensor one_;
  std::vector<int64_t> places_; // in elements
};

/// Applies an activation to each number.
void activate(artifact::Activation activation, Numbers &numbers);

/// Multiplies each number by gelu_tanh's derivative at its counterpart.
void multiplyByGeluSlopes(const Numbers &at, Numbers &numbers);

} // namespace gradus::runtime::cuda
