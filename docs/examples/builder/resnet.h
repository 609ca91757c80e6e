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

} // namespace gradus::examples
