// Library commands run on tensors of the host, and arrays to compare with.
#pragma once

#include "runtime/cuda/emulated_ops.h"

#include "runtime/float_conversion.h"
#include "runtime/tensor_type.h"

#include <gtest/gtest.h>

#include <bit>

namespace gradus::runtime::cuda::test {

using Dims = std::vector<int64_t>;

//===-- arrays ------------------------------------------------------------===//

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

/// Exact enough to compare with.
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
  double at(const Dims &index) const { return numbers[placeOf(index)]; }

private:
  size_t placeOf(const Dims &index) const {
    int64_t place = 0;
    for (size_t i = 0; i < dims.size(); ++i)
      place = place * dims[i] + index[i];
    return size_t(place);
  }
};

/// Multiples of 1/64 in [-1, 1], which bf16 holds too.
inline Array someArray(Dims dims, unsigned seed) {
  Array array(std::move(dims));
  for (double &number : array.numbers) {
    seed = seed * 1664525 + 1013904223;
    number = double(int(seed >> 16) % 65) / 64 * (seed >> 31 ? 1 : -1);
  }
  return array;
}

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

//===-- tensors -----------------------------------------------------------===//

/// A tensor of a command, and its bytes.
struct Operand {
  artifact::LibraryTensorT tensor;
  std::vector<uint8_t> bytes;
};

inline StridedTensor layoutOf(const artifact::LibraryTensorT &tensor) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(artifact::LibraryTensor::Pack(builder, &tensor));
  auto made = stridedOf(*flatbuffers::GetRoot<artifact::LibraryTensor>(
      builder.GetBufferPointer()));
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

/// Calls `visit` with each index and the number that lies there.
template <typename Visit> void forEachNumber(Operand &operand, Visit visit) {
  StridedTensor layout = layoutOf(operand.tensor);
  operand.bytes.resize(layout.bytes(), 0xFF);
  visitFloat(nameOf(layout.dtype), [&](auto zero) {
    auto *numbers = reinterpret_cast<decltype(zero) *>(operand.bytes.data());
    forEachIndex(layout.dims, [&](const Dims &index) {
      int64_t place = 0;
      for (size_t i = 0; i < index.size(); ++i)
        place += index[i] * layout.strides[i];
      visit(index, numbers[place]);
    });
    return true;
  });
}

/// Of an array, in a layout that `change` may give it.
template <typename Change>
Operand operandOf(const Array &array, Change change) {
  Operand operand;
  operand.tensor.dims = array.dims;
  change(operand.tensor);
  forEachNumber(operand, [&](const Dims &index, auto &number) {
    number = std::remove_reference_t<decltype(number)>(array.at(index));
  });
  return operand;
}
inline Operand operandOf(const Array &array) {
  return operandOf(array, [](auto &) {});
}

inline Array arrayOf(Operand &operand) {
  Array array(operand.tensor.dims);
  forEachNumber(operand, [&](const Dims &index, auto &number) {
    array.at(index) = double(number);
  });
  return array;
}

/// NHWC: the second axis is the block of all others.
inline void layChannelsLast(artifact::LibraryTensorT &tensor) {
  tensor.inner_blocks = {tensor.dims[1]};
  tensor.inner_axes = {1};
}

//===-- commands ----------------------------------------------------------===//

/// Runs a command, whose tensors are those of the operands.
inline Status runOp(artifact::LibraryCommandT command,
                    std::vector<Operand *> inputs,
                    std::vector<Operand *> outputs) {
  auto copyOf = [](const Operand *operand) {
    return std::make_unique<artifact::LibraryTensorT>(operand->tensor);
  };
  CallAddresses addresses;
  for (Operand *each : inputs) {
    command.inputs.push_back(copyOf(each));
    addresses.inputs.push_back(
        reinterpret_cast<DevicePointer>(each->bytes.data()));
  }
  for (Operand *each : outputs) {
    command.outputs.push_back(copyOf(each));
    addresses.outputs.push_back(
        reinterpret_cast<DevicePointer>(each->bytes.data()));
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(artifact::LibraryCommand::Pack(builder, &command));
  GRADUS_ASSIGN(EmulatedOp op,
                emulatedOp(*flatbuffers::GetRoot<artifact::LibraryCommand>(
                    builder.GetBufferPointer())));
  op(addresses);
  return Status();
}

} // namespace gradus::runtime::cuda::test
