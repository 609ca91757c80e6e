"""The models that `./dev bench --compile` compiles: many layers, many shapes of convolutions, many weights."""

import functools

import networks
from onnx_writer import INT64, Model

BATCH = 2
GPT_CONSTANTS = ["mask", "*.half", "*.root", "*.one"]  # floats of a GPT that are not trained


def gpt(layers, width=64, heads=4, tokens=32, vocabulary=256, batch=BATCH, has_weights=True):
    """Decoder blocks: attention and an MLP, each behind a norm and beside a residual."""
    net = Model(has_weights)
    ids = net.input("ids", [batch, tokens], INT64)
    table = net.weight("wte", [vocabulary, width])
    x = net.node("Add", [net.node("Gather", [table, ids]), net.weight("wpe", [tokens, width])])
    apart = net.integers([batch, tokens, heads, width // heads])
    together = net.integers([batch, tokens, width])
    hidden = net.tensor("mask", 1, [tokens, tokens], b"".join(
        (b"\0\0\0\0" * (row + 1) + b"\0\0\x80\xff" * (tokens - 1 - row)) for row in range(tokens)))
    scale = net.weight("scale", [], (width // heads) ** -0.5)

    def norm(x, name):
        return net.node("LayerNormalization", [x, net.weight(f"{name}.weight", [width], 1.0),
                                               net.weight(f"{name}.bias", [width], 0.0)], axis=-1)

    def dense(x, name, inputs, outputs):
        product = net.node("MatMul", [x, net.weight(f"{name}.weight", [inputs, outputs])])
        return net.node("Add", [product, net.weight(f"{name}.bias", [outputs], 0.0)])

    def attention(x, name):
        query, key, value = (
            net.node("Transpose", [net.node("Reshape", [dense(x, f"{name}.{part}", width, width), apart])], perm=perm)
            for part, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])))
        scores = net.node("Mul", [net.node("MatMul", [query, key]), scale])
        shares = net.node("Softmax", [net.node("Add", [scores, hidden])], axis=-1)
        seen = net.node("Transpose", [net.node("MatMul", [shares, value])], perm=[0, 2, 1, 3])
        return dense(net.node("Reshape", [seen, together]), f"{name}.out", width, width)

    def perceptron(x, name):
        wide = dense(x, f"{name}.up", width, 4 * width)
        half = net.weight(f"{name}.half", [], 0.5)
        error = net.node("Erf", [net.node("Mul", [wide, net.weight(f"{name}.root", [], 0.5 ** 0.5)])])
        gelu = net.node("Mul", [net.node("Mul", [wide, half]),
                                net.node("Add", [error, net.weight(f"{name}.one", [], 1.0)])])
        return dense(gelu, f"{name}.down", 4 * width, width)

    for layer in range(layers):
        x = net.node("Add", [x, attention(norm(x, f"h{layer}.ln1"), f"h{layer}.attention")])
        x = net.node("Add", [x, perceptron(norm(x, f"h{layer}.ln2"), f"h{layer}.mlp")])
    logits = net.node("MatMul", [norm(x, "ln"), net.weight("head", [width, vocabulary])])
    net.output("logits", logits, [batch, tokens, vocabulary])
    return net


class ConvolutionNet(networks.OnnxNet):
    """For an image, with layers that no network of the bench has."""

    def __init__(self, size=224):
        super().__init__()
        self.image = self.image_input(BATCH, 3, size)

    def keep(self, value, channels, height):
        self.size[value] = (channels, height)
        return value

    def split(self, x, sizes):
        parts = self.node("Split", [x, self.integers(sizes)], len(sizes), axis=1)
        return [self.keep(part, channels, self.height(x)) for part, channels in zip(parts, sizes)]

    def finished(self, logits):
        self.output("logits", logits, [BATCH, 1000])
        return self


def resnet50():
    net = ConvolutionNet()
    x = net.unit(net.image, 64, 7, 2, activation=net.relu)
    x = net.keep(net.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), 64, 56)
    for width, blocks, first in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for stride in [first] + [1] * (blocks - 1):
            inner = net.unit(net.unit(x, width, activation=net.relu), width, 3, stride, activation=net.relu)
            beside = x if net.size[x] == (4 * width, net.size[inner][1]) else net.unit(x, 4 * width, 1, stride)
            x = net.relu(net.each("Add", net.unit(inner, 4 * width), beside))
    return net.finished(net.classify(x, 1000))


def efficientnet_b0():
    net = ConvolutionNet()
    return net.finished(networks.efficientnet_b0(net, net.image))


def mixed(net, x, kernels, stride):
    """Depthwise, each kernel on its part of the channels."""
    if len(kernels) == 1:
        return net.depthwise(x, kernels[0], stride, net.swish)
    width = net.channels(x)
    share = width // len(kernels)
    sizes = [width - share * (len(kernels) - 1)] + [share] * (len(kernels) - 1)
    parts = [net.convolution(part, size, kernel, stride, size)
             for part, size, kernel in zip(net.split(x, sizes), sizes, kernels)]
    return net.swish(net.batch_norm(net.concat(parts)))


def mixnet_s():
    net = ConvolutionNet()
    x = net.unit(net.image, 16, 3, 2, activation=net.swish)
    for expansion, channels, repeats, first, kernels in (
            (1, 16, 1, 1, [3]), (6, 24, 1, 2, [3]), (3, 24, 1, 1, [3]), (6, 40, 1, 2, [3, 5, 7]), (6, 40, 3, 1, [3, 5]),
            (6, 80, 1, 2, [3, 5, 7]), (6, 80, 2, 1, [3, 5]), (6, 120, 1, 1, [3, 5, 7]), (3, 120, 2, 1, [3, 5, 7, 9]),
            (6, 200, 1, 2, [3, 5, 7, 9, 11]), (6, 200, 2, 1, [3, 5, 7, 9])):
        for stride in [first] + [1] * (repeats - 1):
            depthwise = functools.partial(mixed, net, kernels=kernels, stride=stride)
            x = networks.excited_inverted(net, x, channels, depthwise, expansion, net.channels(x) // 2)
    return net.finished(net.classify(net.unit(x, 1536, activation=net.swish), 1000))


def ghost(net, x, channels, activation=None, attends=False):
    """Half of the channels by a convolution, the others from those, one by one; far rows and columns may gate them."""
    primary = net.unit(x, (channels + 1) // 2, activation=activation)
    made = net.concat([primary, net.depthwise(primary, 3, activation=activation)])
    if not attends:
        return made
    inputs, height = net.size[x]
    pooled = net.keep(net.node("AveragePool", [x], kernel_shape=[2, 2], strides=[2, 2]), inputs, height // 2)
    gate = net.depthwise(net.depthwise(net.unit(pooled, channels), (1, 5)), (5, 1))
    sizes = net.integers([BATCH, channels, height, height])
    gate = net.node("Resize", [net.node("Sigmoid", [gate]), "", "", sizes], mode="nearest",
                    coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    return net.each("Mul", made, gate)


def ghostnetv2():
    net = ConvolutionNet()
    x = net.unit(net.image, 16, 3, 2, activation=net.relu)
    layers = ((3, 16, 16, 0, 1), (3, 48, 24, 0, 2), (3, 72, 24, 0, 1), (5, 72, 40, 1, 2), (5, 120, 40, 1, 1),
              (3, 240, 80, 0, 2), (3, 200, 80, 0, 1), (3, 184, 80, 0, 1), (3, 184, 80, 0, 1), (3, 480, 112, 1, 1),
              (3, 672, 112, 1, 1), (5, 672, 160, 1, 2), (5, 960, 160, 0, 1), (5, 960, 160, 1, 1), (5, 960, 160, 0, 1),
              (5, 960, 160, 1, 1))
    for number, (kernel, width, channels, excites, stride) in enumerate(layers):
        inner = ghost(net, x, width, net.relu, attends=number > 1 and net.size[x][1] % 2 == 0)
        if stride > 1:
            inner = net.depthwise(inner, kernel, stride)
        if excites:
            inner = net.excited(inner, width // 4, net.relu, "HardSigmoid")
        inner = ghost(net, inner, channels)
        if stride > 1 or net.size[x][0] != channels:
            x = net.unit(net.depthwise(x, kernel, stride), channels)
        x = net.each("Add", inner, x)
    return net.finished(net.classify(net.unit(x, 960, activation=net.relu), 1000))


def wide_mlp(layers=18, width=4096):
    """304 M parameters in a file of 1.2 GB."""
    net = Model()
    x = net.input("x", [BATCH, width])
    for layer in range(layers):
        x = net.node("Relu", [net.node("Gemm", [x, net.weight(f"fc{layer}.weight", [width, width]),
                                                net.weight(f"fc{layer}.bias", [width])])])
    net.output("y", x, [BATCH, width])
    return net
