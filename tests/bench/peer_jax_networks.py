"""The builder of JAX's functions for the networks that all sides share (networks.py): images NHWC, kernels HWIO."""

import jax
import jax.numpy as jnp
import networks
import numpy


class JaxNet(networks.Layers):
    """Runs a definition once: each layer takes its weights, in the layout that suits it, from what `give` says.

    `give(shapes, layout)` returns the next tensors of ONNX's `shapes`, each as `layout` makes it of ONNX's.
    """

    EACH = {"Add": jnp.add, "Mul": jnp.multiply, "Sigmoid": jax.nn.sigmoid, "Relu": jax.nn.relu}

    def __init__(self, low, give, statistics):
        self.low, self.give, self.statistics = low, give, statistics  # statistics: what replaces a pair of running ones

    def channels(self, x):
        return x.shape[-1]

    def height(self, x):
        return x.shape[1]

    def convolution(self, x, channels, kernel=1, stride=1, groups=1, bias=False, pad=None):
        pad = kernel // 2 if pad is None else pad
        (weight,) = self.give([(channels, x.shape[-1] // groups, kernel, kernel)], lambda w: w.transpose(2, 3, 1, 0))
        made = jax.lax.conv_general_dilated(self.low(x), self.low(weight), (stride, stride), [(pad, pad)] * 2,
                                            dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups)
        return made + self.low(*self.give([(channels,)])) if bias else made

    def up(self, x, channels):
        weight, bias = self.give([(x.shape[-1], channels, 2, 2), (channels,)])
        batch, height, width, _ = x.shape
        made = jnp.einsum("nhwi,ioab->nhawbo", self.low(x), self.low(weight))
        return made.reshape(batch, 2 * height, 2 * width, channels) + self.low(bias)

    def half(self, x):
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def batch_norm(self, x):
        scale, bias, *old = self.give([(x.shape[-1],)] * 4)
        wide = x.astype(jnp.float32)
        mean, var = jnp.mean(wide, (0, 1, 2)), jnp.var(wide, (0, 1, 2))
        count = x.size // x.shape[-1]
        self.statistics([0.9 * old[0] + 0.1 * mean, 0.9 * old[1] + 0.1 * var * (count / (count - 1))])
        return self.low((wide - mean) * (jax.lax.rsqrt(var + 1e-5) * scale) + bias)

    def layer_norm(self, x):
        scale, bias = self.give([(x.shape[-1],)] * 2)
        wide = x.astype(jnp.float32)
        mean, var = jnp.mean(wide, -1, keepdims=True), jnp.var(wide, -1, keepdims=True)
        return self.low((wide - mean) * jax.lax.rsqrt(var + 1e-6) * scale + bias)

    def relu6(self, x):
        return jax.nn.relu6(x)

    def swish(self, x):
        return jax.nn.silu(x)

    def gelu(self, x):
        return jax.nn.gelu(x, approximate=False)

    def scaled(self, x, value):
        return x * self.give([(x.shape[-1], 1, 1)], lambda w: w.reshape(-1))[0]

    def each(self, op, *values):
        return self.EACH[op](*values)

    def concat(self, parts):
        return jnp.concatenate(parts, -1)

    def mean(self, x):
        return jnp.mean(x, (1, 2), keepdims=True)

    def flat(self, x):
        return x.reshape(x.shape[0], -1)

    def dense(self, x, outputs):
        (weight,) = self.give([(outputs, x.shape[-1])], numpy.transpose)
        return self.low(x) @ self.low(weight) + self.low(*self.give([(outputs,)]))

    def lstm(self, x, width, layers):
        """Inputs of all steps in one product; gates in ONNX's order: input, output, forget, cell."""
        for _ in range(layers):
            wide, recurrent = self.give([(1, 4 * width, x.shape[-1]), (1, 4 * width, width)], lambda w: w[0].T)
            (bias,) = self.give([(1, 8 * width)], lambda b: b.reshape(2, -1))
            every = self.low(x) @ self.low(wide) + bias[0] + bias[1]

            def cell(carry, now, recurrent=self.low(recurrent)):
                h, c = carry
                i, o, f, g = jnp.split(now + self.low(h) @ recurrent, 4, -1)
                c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
                h = jax.nn.sigmoid(o) * jnp.tanh(c)
                return (h, c), h

            zeros = jnp.zeros((x.shape[1], width))
            (last, _), x = jax.lax.scan(cell, (zeros, zeros), every)
        return last


def as_it_is(weight):
    return weight


def initial(network):
    """The tensors in the order of their use, and whether each is a running statistic. Runs the definition on shapes alone."""
    source = network.onnx()
    numbers = (numpy.frombuffer(source.numbers(*each), numpy.float32).reshape(each[0]) for each in source.weights.values())
    made, running = [], []

    def give(shapes, layout=as_it_is):
        values = [layout(next(numbers).reshape(shape)) for shape in shapes]
        made.extend(values)
        running.extend([False] * len(values))
        return values

    def is_running(_):
        running[-2:] = [True, True]

    jax.eval_shape(lambda x: network.define(JaxNet(as_it_is, give, is_running), x), jnp.zeros(shape_of(network)))
    if next(numbers, None) is not None:
        raise ValueError("the builders of ONNX and of JAX make different weights")
    return [jnp.asarray(numpy.ascontiguousarray(each)) for each in made], running


def shape_of(network):
    batch, channels, *sizes = network.shape
    return (batch, *sizes, channels) if network.is_image else tuple(network.shape)


def batch_of(network):
    x, labels = network.batch()
    x = numpy.frombuffer(x, numpy.float32).reshape(network.shape)
    labels = numpy.frombuffer(labels, numpy.int64).reshape(network.label_shape).astype(numpy.int32)
    return jnp.asarray(x.transpose(0, 2, 3, 1) if network.is_image else x), jnp.asarray(labels)


def made(network, low, cross_entropy):
    """Parameters, running statistics, the loss of (parameters, statistics, *batch) with the new statistics, and a batch."""
    tensors, running = initial(network)
    parameters = [each for each, runs in zip(tensors, running) if not runs]
    statistics = [each for each, runs in zip(tensors, running) if runs]

    def loss(parameters, statistics, x, labels):
        sources, kinds, new = {False: iter(parameters), True: iter(statistics)}, iter(running), []

        def give(shapes, layout=None):
            return [next(sources[next(kinds)]) for _ in shapes]

        logits = network.define(JaxNet(low, give, new.extend), x)
        return cross_entropy(logits, labels), new

    return parameters, statistics, loss, batch_of(network)
