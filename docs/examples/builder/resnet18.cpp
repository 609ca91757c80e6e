// ResNet-18 (He et al., https://arxiv.org/abs/1512.03385). Small images want a
// stem of 3x3, without pooling.

#include "docs/examples/builder/resnet.h"

namespace gradus::examples {

/// Two convolutions, and what they change added to what came in.
static Tensor block(ProgramBuilder &net, const std::string &name, Tensor x,
                    int64_t channels, int64_t stride) {
  Tensor y = net.relu(
      convolution(net, name + ".conv1", name + ".bn1", x, channels, 3, stride));
  y = convolution(net, name + ".conv2", name + ".bn2", y, channels, 3);
  if (stride != 1)
    x = convolution(net, name + ".downsample.0", name + ".downsample.1", x,
                    channels, 1, stride);
  return net.relu(net.add(y, x));
}

void resnet18(ProgramBuilder &net, const Images &images) {
  Tensor x = net.input("input", {images.batch, 3, images.size, images.size});
  x = stem(net, x, images);
  for (int stage = 0; stage < 4; ++stage)
    for (int i = 0; i < 2; ++i)
      x = block(net,
                "layer" + std::to_string(stage + 1) + "." + std::to_string(i),
                x, images.widths[stage], stage > 0 && i == 0 ? 2 : 1);
  net.output("logits",
             net.dense("fc", net.globalAveragePool(x), images.classes));
}

} // namespace gradus::examples
