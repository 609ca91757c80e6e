// Tensors of the emulated card's library as floats of the host, densely packed.
#pragma once

#include "runtime/cuda/driver_abi.h"
#include "runtime/cuda/library_tensor.h"

namespace gradus::runtime::cuda {

using Numbers = std::vector<float>;

/// Whether tensors of this type are numbers here: f32, f16 and bf16.
bool isNumberType(artifact::DType dtype);

/// All of them, the last axis fastest.
void readNumbers(const StridedTensor &tensor, DevicePointer from, float *to);
Numbers numbersAt(const StridedTensor &tensor, DevicePointer from);
/// Rounds each once, to the tensor's type.
void writeNumbers(const StridedTensor &tensor, const float *from,
                  DevicePointer to);

/// The same tensor with its axes in another order.
StridedTensor permuted(const StridedTensor &tensor,
                       const std::vector<size_t> &axes);
/// Sizes of 1 stand for all of `dims`.
StridedTensor broadcast(StridedTensor tensor, const std::vector<int64_t> &dims);

/// A tensor as matrices of its last two axes, one for each index of the others.
class Matrices {
public:
  explicit Matrices(const StridedTensor &tensor);
  /// Of matrices with rows and columns exchanged.
  static Matrices transposed(const StridedTensor &tensor);

  size_t count() const { return places_.size(); }
  int64_t rows() const { return one_.dims[0]; }
  int64_t columns() const { return one_.dims[1]; }
  /// Whether i and i - 1 are one matrix.
  bool isRepeated(size_t i) const {
    return i > 0 && places_[i] == places_[i - 1];
  }

  /// Matrix i of a tensor that lies there; `numbers` takes its size.
  void read(DevicePointer from, size_t i, Numbers &numbers) const;
  void write(const Numbers &numbers, DevicePointer to, size_t i) const;

private:
  DevicePointer addressOf(DevicePointer tensor, size_t i) const;

  StridedTensor one_;
  std::vector<int64_t> places_; // in elements
};

/// Applies it to each.
void activate(artifact::Activation activation, Numbers &numbers);

/// Each times the slope of gelu_tanh at its counterpart.
void multiplyByGeluSlopes(const Numbers &at, Numbers &numbers);

} // namespace gradus::runtime::cuda
