// LeNet-5 with ReLU and max pooling, for grey images of 28x28: the model that
// docs/examples/digits trains.

#include "docs/examples/builder/models.h"

void gradus::examples::lenet5(ProgramBuilder &net, const Images &images) {
  Tensor x = net.input("image", {images.batch, 1, images.size, images.size});
  x = net.convolution("conv1", x, 6, {.size = {5, 5}, .pads = {2, 2}});
  x = net.maxPool(net.relu(x), {.size = {2, 2}});
  x = net.convolution("conv2", x, 16, {.size = {5, 5}});
  x = net.flatten(net.maxPool(net.relu(x), {.size = {2, 2}}));
  x = net.relu(net.dense("fc1", x, 120));
  x = net.relu(net.dense("fc2", x, 84));
  net.output("logits", net.dense("fc3", x, images.classes));
}
