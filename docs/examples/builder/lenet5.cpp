// LeNet-5 for grey images of 28x28: with ReLU and max pooling the model that
// docs/examples/digits trains, with tanh and averages the older one.

#include "docs/examples/builder/models.h"

void gradus::examples::lenet5(ProgramBuilder &net, const Images &images) {
  auto bend = [&](Tensor x) {
    return images.smooth ? net.tanh(x) : net.relu(x);
  };
  auto pool = [&](Tensor x) {
    return images.smooth ? net.averagePool(bend(x), {.size = {2, 2}})
                         : net.maxPool(bend(x), {.size = {2, 2}});
  };
  Tensor x = net.input("image", {images.batch, 1, images.size, images.size});
  x = net.convolution("conv1", x, 6, {.size = {5, 5}, .pads = {2, 2}});
  x = net.convolution("conv2", pool(x), 16, {.size = {5, 5}});
  x = bend(net.dense("fc1", net.flatten(pool(x)), 120));
  x = bend(net.dense("fc2", x, 84));
  net.output("logits", net.dense("fc3", x, images.classes));
}
