"""Networks of the bench that are written once: a builder makes ONNX, PyTorch's modules or JAX's functions of each.

A definition takes a builder and the value of its input, and returns the logits. A builder has a method for each layer,
whose weights it makes or takes in the order of the calls. OnnxNet, which also decides the weights' numbers, is here;
the others are in peer_torch_models.py and peer_jax_models.py. So all sides train the same numbers, and losses can be
compared (run.py).
"""

import random
import struct
from dataclasses import dataclass

from onnx_writer import BLOCK, Model, product


class Layers:
    """What builders make of their own `convolution`, `batch_norm`, `each` and so on."""

    def relu(self, x):
        return self.each("Relu", x)

    def swish(self, x):
        return self.each("Mul", x, self.each("Sigmoid", x))

    def unit(self, x, channels, kernel=1, stride=1, groups=1, activation=None):
        """A convolution, its norm and what is behind."""
        x = self.batch_norm(self.convolution(x, channels, kernel, stride, groups))
        return activation(x) if activation else x

    def depthwise(self, x, kernel, stride=1, activation=None):
        return self.unit(x, self.channels(x), kernel, stride, self.channels(x), activation)

    def excited(self, x, reduced, activation, gate):
        """Squeeze and excitation."""
        inner = activation(self.convolution(self.mean(x), reduced, bias=True))
        return self.each("Mul", x, self.each(gate, self.convolution(inner, self.channels(x), bias=True)))

    def classify(self, x, classes):
        return self.dense(self.flat(self.mean(x)), classes)


class OnnxNet(Layers, Model):
    """Layers of ONNX, with channels and heights counted along. Sizes of kernels are odd where padding is not given."""

    def __init__(self):
        super().__init__()
        self.size = {}  # of each value: channels, height (and width)

    def image_input(self, batch, channels, size):
        image = self.input("image", [batch, channels, size, size])
        self.size[image] = (channels, size)
        return image

    def channels(self, x):
        return self.size[x][0]

    def height(self, x):
        return self.size[x][1]

    def keep(self, value, channels, height):
        self.size[value] = (channels, height)
        return value

    def like(self, value, source):
        return self.keep(value, *self.size[source])

    def convolution(self, x, channels, kernel=1, stride=1, groups=1, bias=False, pad=None):
        inputs, height = self.size[x]
        high, wide = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        pads = [high // 2, wide // 2] * 2 if pad is None else [pad] * 4
        name = self.name("conv")
        shape = [channels, inputs // groups, high, wide]
        operands = [x, self.weight(f"{name}.weight", shape, bound=(6 / product(shape[1:])) ** 0.5)]
        operands += [self.weight(f"{name}.bias", [channels], 0.0)] if bias else []
        made = self.node("Conv", operands, kernel_shape=[high, wide], strides=[stride, stride], group=groups, pads=pads)
        return self.keep(made, channels, (height + 2 * pads[0] - high) // stride + 1)

    def up(self, x, channels):
        """A transposed convolution that doubles height and width."""
        inputs, height = self.size[x]
        name = self.name("up")
        weight = self.weight(f"{name}.weight", [inputs, channels, 2, 2], bound=(6 / inputs) ** 0.5)
        operands = [x, weight, self.weight(f"{name}.bias", [channels], 0.0)]
        return self.keep(self.node("ConvTranspose", operands, kernel_shape=[2, 2], strides=[2, 2]), channels, 2 * height)

    def half(self, x):
        """The maxima of 2 x 2."""
        inputs, height = self.size[x]
        return self.keep(self.node("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2]), inputs, height // 2)

    def batch_norm(self, x):
        name, channels = self.name("bn"), self.channels(x)
        states = [self.weight(f"{name}.{part}", [channels], value)
                  for part, value in (("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0))]
        return self.like(self.node("BatchNormalization", [x, *states], 3, training_mode=1)[0], x)

    def layer_norm(self, x):
        """Over the channels."""
        name, channels = self.name("ln"), self.channels(x)
        states = [self.weight(f"{name}.weight", [channels], 1.0), self.weight(f"{name}.bias", [channels], 0.0)]
        last = self.node("LayerNormalization", [self.node("Transpose", [x], perm=[0, 2, 3, 1]), *states], axis=-1, epsilon=1e-6)
        return self.like(self.node("Transpose", [last], perm=[0, 3, 1, 2]), x)

    def each(self, op, x, *others):
        return self.like(self.node(op, [x, *others]), x)

    def constant(self, value):
        return self.node("Constant", [], value_float=value)

    def relu6(self, x):
        return self.each("Clip", x, self.constant(0.0), self.constant(6.0))

    def gelu(self, x):
        error = self.node("Erf", [self.node("Mul", [x, self.constant(0.5 ** 0.5)])])
        half = self.node("Mul", [x, self.constant(0.5)])
        return self.like(self.node("Mul", [half, self.node("Add", [error, self.constant(1.0)])]), x)

    def scaled(self, x, value):
        """Each channel times a number that is trained."""
        return self.each("Mul", x, self.weight(self.name("scale"), [self.channels(x), 1, 1], value))

    def concat(self, parts):
        made = self.node("Concat", parts, axis=1)
        return self.keep(made, sum(self.channels(part) for part in parts), self.height(parts[0]))

    def mean(self, x):
        """Of each channel."""
        return self.keep(self.node("GlobalAveragePool", [x]), self.channels(x), 1)

    def flat(self, x):
        return self.like(self.node("Flatten", [x]), x)

    def dense(self, x, outputs):
        name = self.name("fc")
        weight = self.weight(f"{name}.weight", [outputs, self.channels(x)])
        made = self.node("Gemm", [x, weight, self.weight(f"{name}.bias", [outputs], 0.0)], transB=1)
        return self.keep(made, outputs, 1)

    def lstm(self, x, width, layers):
        """The last output of recurrent layers over a sequence [steps, batch, channels]. Gates stand in ONNX's order."""
        for _ in range(layers):
            name, inputs = self.name("lstm"), self.channels(x)
            weights = [self.weight(f"{name}.{part}", [1, 4 * width, size]) for part, size in (("W", inputs), ("R", width))]
            bias = self.weight(f"{name}.B", [1, 8 * width])
            every, last, _ = self.node("LSTM", [x, *weights, bias], 3, hidden_size=width)
            x = self.keep(self.node("Squeeze", [every, self.integers([1])]), width, 1)
        return self.keep(self.node("Squeeze", [last, self.integers([0])]), width, 1)


# Definitions.


def mobilenet_v2(net, x, classes=1000):
    x = net.unit(x, 32, 3, 2, activation=net.relu6)
    for expansion, channels, repeats, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                                (6, 160, 3, 2), (6, 320, 1, 1)):
        for stride in [first] + [1] * (repeats - 1):
            inputs = net.channels(x)
            inner = net.unit(x, inputs * expansion, activation=net.relu6) if expansion > 1 else x
            inner = net.unit(net.depthwise(inner, 3, stride, net.relu6), channels)
            x = net.each("Add", x, inner) if stride == 1 and inputs == channels else inner
    return net.classify(net.unit(x, 1280, activation=net.relu6), classes)


def excited_inverted(net, x, channels, depthwise, expansion, reduced):
    """The inverted bottleneck: wide inside, depthwise, excited; with x beside it where shapes are the same."""
    inner = net.unit(x, net.channels(x) * expansion, activation=net.swish) if expansion > 1 else x
    inner = net.unit(net.excited(depthwise(inner), max(1, reduced), net.swish, "Sigmoid"), channels)
    same = (net.channels(x), net.height(x)) == (channels, net.height(inner))
    return net.each("Add", x, inner) if same else inner


def efficientnet_b0(net, x, classes=1000):
    x = net.unit(x, 32, 3, 2, activation=net.swish)
    for expansion, channels, repeats, first, kernel in ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3),
                                                        (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)):
        for stride in [first] + [1] * (repeats - 1):
            def depthwise(inner, kernel=kernel, stride=stride):
                return net.depthwise(inner, kernel, stride, net.swish)

            x = excited_inverted(net, x, channels, depthwise, expansion, net.channels(x) // 4)
    return net.classify(net.unit(x, 1280, activation=net.swish), classes)


def convnext(net, x, depths, widths, classes):
    """The scales of branches, which begin at 1e-6 where one trains in earnest, are 0.1, so that losses depend on the branches."""
    for depth, width in zip(depths, widths):
        if width == widths[0]:
            x = net.layer_norm(net.convolution(x, width, 4, 4, bias=True, pad=0))
        else:
            x = net.convolution(net.layer_norm(x), width, 2, 2, bias=True, pad=0)
        for _ in range(depth):
            inner = net.layer_norm(net.convolution(x, width, 7, groups=width, bias=True))
            inner = net.gelu(net.convolution(inner, 4 * width, bias=True))
            x = net.each("Add", x, net.scaled(net.convolution(inner, width, bias=True), 0.1))
    return net.dense(net.flat(net.layer_norm(net.mean(x))), classes)


def convnext_atto(net, x, classes=1000):
    return convnext(net, x, (2, 2, 6, 2), (40, 80, 160, 320), classes)


def regnetx_002(net, x, classes=1000):
    x = net.unit(x, 32, 3, 2, activation=net.relu)
    for width, depth in ((24, 1), (56, 1), (152, 4), (368, 7)):
        for stride in [2] + [1] * (depth - 1):
            inner = net.unit(x, width, activation=net.relu)
            inner = net.unit(net.unit(inner, width, 3, stride, width // 8, net.relu), width)
            x = net.relu(net.each("Add", inner, x if stride == 1 else net.unit(x, width, 1, stride)))
    return net.classify(x, classes)


def unet(net, x, widths=(32, 64, 128), classes=4):
    """Logits of each pixel."""
    def double(x, width):
        return net.unit(net.unit(x, width, 3, activation=net.relu), width, 3, activation=net.relu)

    beside = []
    for width in widths[:-1]:
        beside.append(double(x, width))
        x = net.half(beside[-1])
    x = double(x, widths[-1])
    for width in reversed(widths[:-1]):
        x = double(net.concat([beside.pop(), net.up(x, width)]), width)
    return net.convolution(x, classes, bias=True)


def lstm(net, x, width=256, layers=2, classes=10):
    return net.dense(net.lstm(x, width, layers), classes)


@dataclass
class Network:
    define: object
    shape: list  # of the input
    classes: int
    per_pixel: bool = False  # whether each pixel has a label

    @property
    def is_image(self):
        return len(self.shape) == 4

    @property
    def label_shape(self):
        batch = self.shape[0 if self.is_image else 1]
        return [batch, *self.shape[2:]] if self.per_pixel else [batch]

    @property
    def logits_shape(self):
        return [self.label_shape[0], self.classes, *self.label_shape[1:]]

    def onnx(self):
        net = OnnxNet()
        x = net.image_input(self.shape[0], *self.shape[1:3]) if self.is_image else net.input("sequence", self.shape)
        net.keep(x, self.shape[1 if self.is_image else 2], self.shape[2] if self.is_image else 1)
        net.output("logits", self.define(net, x), self.logits_shape)
        return net

    def batch(self):
        """The bytes of the input, f32, and of the labels, i64."""
        source = random.Random(2)
        numbers = struct.pack(f"<{BLOCK}f", *(source.uniform(-1, 1) for _ in range(BLOCK)))
        size = 4 * product(self.shape)
        labels = [source.randrange(self.classes) for _ in range(product(self.label_shape))]
        return (numbers * (size // len(numbers) + 1))[:size], struct.pack(f"<{len(labels)}q", *labels)


NETWORKS = {
    "lstm": Network(lstm, [50, 32, 256], 10),
    "unet": Network(unet, [4, 3, 128, 128], 4, per_pixel=True),
    "mobilenet-v2": Network(mobilenet_v2, [8, 3, 224, 224], 1000),
    "convnext-atto": Network(convnext_atto, [8, 3, 224, 224], 1000),
    "regnetx-002": Network(regnetx_002, [8, 3, 224, 224], 1000),
    "efficientnet-b0": Network(efficientnet_b0, [8, 3, 224, 224], 1000),
}
