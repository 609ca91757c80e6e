// Convolution commands for tests.
#pragma once

#include "tests/runtime/cuda/packed_command.h"

namespace gradus::runtime::cuda::test {

/// Channels last: they are the block of all strides.
inline artifact::LibraryTensorT channelsLast(artifact::DType dtype,
                                             std::vector<int64_t> dims) {
  artifact::LibraryTensorT tensor = tensorOf(dtype, dims);
  tensor.inner_blocks = {dims[1]};
  tensor.inner_axes = {1};
  return tensor;
}

struct Shape {
  int64_t inputs, size, outputs, window, stride, pad;

  int64_t resultSize() const { return (size + 2 * pad - window) / stride + 1; }
};

/// One of square images and windows, or a gradient of it.
inline artifact::LibraryCommandT convolution(artifact::LibraryOp op,
                                             const Shape &shape, int64_t images,
                                             artifact::DType dtype,
                                             bool isChannelsLast) {
  auto tensor = [&](const std::vector<int64_t> &dims) {
    return isChannelsLast ? channelsLast(dtype, dims) : tensorOf(dtype, dims);
  };
  artifact::LibraryTensorT x = tensor(
                               {images, shape.inputs, shape.size, shape.size}),
                           w = tensor({shape.outputs, shape.inputs,
                                       shape.window, shape.window}),
                           y = tensor({images, shape.outputs,
                                       shape.resultSize(), shape.resultSize()});
  using artifact::LibraryOp;
  auto command = op == LibraryOp::convolution ? commandOf(op, {x, w}, {y})
                 : op == LibraryOp::convolution_backward_data
                     ? commandOf(op, {y, w}, {x})
                     : commandOf(op, {x, y}, {w});
  windowsOf(command).strides = {shape.stride, shape.stride};
  windowsOf(command).pads_begin =
      windowsOf(command).pads_end = {shape.pad, shape.pad};
  return command;
}

} // namespace gradus::runtime::cuda::test
