// Library commands run on tensors of the host.
#pragma once

#include "runtime/emulated/emulated_ops.h"

#include "arrays.h"

#include "runtime/float_conversion.h"
#include "runtime/tensor_type.h"

#include <bit>
#include <concepts>

namespace gradus::runtime::cuda::test {

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

/// Of an array, as the tensor lies and rounded as it is.
inline Operand operandOf(const Array &array, artifact::LibraryTensorT tensor) {
  Operand operand{std::move(tensor), {}};
  forEachNumber(operand, [&](const Dims &index, auto &number) {
    number = std::remove_reference_t<decltype(number)>(array.at(index));
  });
  return operand;
}
/// In a layout that `change` may give it.
template <std::invocable<artifact::LibraryTensorT &> Change>
Operand operandOf(const Array &array, Change change) {
  artifact::LibraryTensorT tensor;
  tensor.dims = array.dims;
  change(tensor);
  return operandOf(array, std::move(tensor));
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
                    const std::vector<Operand *> &inputs,
                    const std::vector<Operand *> &outputs) {
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
