// ResNet-50 as torchvision has it: the stride is in the block's 3x3
// convolution.

#include "docs/examples/builder/resnet.h"

namespace gradus::examples {

/// Narrow, look around, widen; `widens` where the shapes of both ends differ.
static Tensor bottleneck(ProgramBuilder &net, const std::string &name, Tensor x,
                         int64_t channels, int64_t stride, bool widens) {
  Tensor y = net.relu(
      convolution(net, name + ".conv1", name + ".bn1", x, channels, 1));
  y = net.relu(
      convolution(net, name + ".conv2", name + ".bn2", y, channels, 3, stride));
  y = convolution(net, name + ".conv3", name + ".bn3", y, 4 * channels, 1);
  if (widens)
    x = convolution(net, name + ".downsample.0", name + ".downsample.1", x,
                    4 * channels, 1, stride);
  return net.relu(net.add(y, x));
}

void resnet50(ProgramBuilder &net, const Images &images) {
  const int depths[] = {3, 4, 6, 3};
  Tensor x = net.input("input", {images.batch, 3, images.size, images.size});
  x = stem(net, x, images);
  for (int stage = 0; stage < 4; ++stage)
    for (int i = 0; i < depths[stage]; ++i)
      x = bottleneck(
          net, "layer" + std::to_string(stage + 1) + "." + std::to_string(i), x,
          images.widths[stage], stage > 0 && i == 0 ? 2 : 1, i == 0);
  net.output("logits",
             net.dense("fc", net.globalAveragePool(x), images.classes));
}

} // namespace gradus::examples
