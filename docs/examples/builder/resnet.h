// What residual networks are made of.

#pragma once

#include "docs/examples/builder/models.h"

namespace gradus::examples {

/// A square convolution without bias, and batch norm.
inline Tensor convolution(ProgramBuilder &net, const std::string &name,
                          const std::string &norm, Tensor x, int64_t channels,
                          int64_t size, int64_t stride = 1) {
  WindowOptions window = {.size = {size, size},
                          .strides = {stride, stride},
                          .pads = {size / 2, size / 2}};
  return net.batchNorm(norm, net.convolution(name, x, channels, window, false));
}

inline Tensor stem(ProgramBuilder &net, Tensor x, const Images &images) {
  auto [size, stride, pools] = images.stem;
  x = net.relu(
      convolution(net, "conv1", "bn1", x, images.widths[0], size, stride));
  WindowOptions window = {.size = {3, 3}, .strides = {2, 2}, .pads = {1, 1}};
  return pools ? net.maxPool(x, window) : x;
}

} // namespace gradus::examples
