"""The full-size networks of the bench in JAX: convolutions NHWC, the arithmetic of peer_torch_models.py.
Those that all sides share are made by peer_jax_networks.py.

A maker gives parameters, running statistics (of batch norms), the loss of
(parameters, statistics, *batch) with the new statistics beside it, and a batch.
"""

import functools
import itertools

import jax
import jax.numpy as jnp
import networks
import peer_jax_networks

_keys = itertools.count()


products = jnp.float32  # what products multiply; stepper() sets it


def low(x):
    return x.astype(products)


def normal(*shape, scale=0.02):
    return jax.random.normal(jax.random.PRNGKey(next(_keys)), shape) * scale


def integers(bound, *shape):
    return jax.random.randint(jax.random.PRNGKey(next(_keys)), shape, 0, bound)


def linear(inputs, outputs):
    return {"w": normal(inputs, outputs), "b": jnp.zeros(outputs)}


def norm(width):
    return {"scale": jnp.ones(width), "bias": jnp.zeros(width)}


def apply(layer, x):
    return low(x) @ low(layer["w"]) + low(layer["b"])


def cross_entropy(logits, labels):
    logits = logits.astype(jnp.float32)
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1))


# Residual networks.


def convolution(inputs, outputs, size):
    """Convolution and batch norm: parameters and statistics."""
    kernel = normal(size, size, inputs, outputs, scale=(2 / (size * size * outputs)) ** 0.5)
    return {"w": kernel, **norm(outputs)}, {"mean": jnp.zeros(outputs), "var": jnp.ones(outputs)}


def convolve(layer, statistics, x, stride=1):
    pad = layer["w"].shape[0] // 2
    x = jax.lax.conv_general_dilated(low(x), low(layer["w"]), (stride, stride), [(pad, pad)] * 2,
                                     dimension_numbers=("NHWC", "HWIO", "NHWC")).astype(jnp.float32)
    mean, var = jnp.mean(x, (0, 1, 2)), jnp.var(x, (0, 1, 2))
    count = x.size // x.shape[-1]
    new = {"mean": 0.9 * statistics["mean"] + 0.1 * mean, "var": 0.9 * statistics["var"] + 0.1 * var * (count / (count - 1))}
    return low((x - mean) * (jax.lax.rsqrt(var + 1e-5) * layer["scale"]) + layer["bias"]), new


def residual(layers, statistics, x, stride):
    body = [name for name in sorted(layers) if name != "shortcut"]
    new, shortcut = {}, x
    if "shortcut" in layers:
        shortcut, new["shortcut"] = convolve(layers["shortcut"], statistics["shortcut"], x, stride)
    strided = body[len(body) - 2]  # the 3x3 of three, the first of two
    for name in body:
        x, new[name] = convolve(layers[name], statistics[name], x, stride if name == strided else 1)
        if name != body[-1]:
            x = jax.nn.relu(x)
    return jax.nn.relu(x + shortcut), new


def block(inputs, width, stride, bottleneck):
    outputs = width * 4 if bottleneck else width
    shapes = [(inputs, width, 1), (width, width, 3), (width, outputs, 1)] if bottleneck else [
        (inputs, width, 3), (width, width, 3)]
    made = {f"{i}": convolution(*shape) for i, shape in enumerate(shapes)}
    if stride != 1 or inputs != outputs:
        made["shortcut"] = convolution(inputs, outputs, 1)
    return {name: each[0] for name, each in made.items()}, {name: each[1] for name, each in made.items()}


def resnet(depths, bottleneck, small, classes, batch, size):
    strides = [2 if stage and not i else 1 for stage, depth in enumerate(depths) for i in range(depth)]
    widths = [64 << stage for stage, depth in enumerate(depths) for _ in range(depth)]
    outputs = [width * 4 if bottleneck else width for width in widths]
    made = [block(*each, bottleneck) for each in zip([64, *outputs], widths, strides)]
    stem = convolution(3, 64, 3 if small else 7)
    parameters = {"stem": stem[0], "blocks": [each[0] for each in made], "head": linear(outputs[-1], classes)}
    statistics = {"stem": stem[1], "blocks": [each[1] for each in made]}

    def loss(p, statistics, x, labels):
        new = {"blocks": []}
        x, new["stem"] = convolve(p["stem"], statistics["stem"], x, 1 if small else 2)
        x = jax.nn.relu(x)
        if not small:
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), [(0, 0), (1, 1), (1, 1), (0, 0)])
        for layers, old, stride in zip(p["blocks"], statistics["blocks"], strides):
            x, changed = residual(layers, old, x, stride)
            new["blocks"].append(changed)
        return cross_entropy(apply(p["head"], jnp.mean(x, (1, 2))), labels), new

    return parameters, statistics, loss, (normal(batch, size, size, 3, scale=1), integers(classes, batch))


# Transformers.


def layer_norm(layer, x, epsilon):
    mean = jnp.mean(x, -1, keepdims=True)
    var = jnp.var(x, -1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(var + epsilon) * layer["scale"] + layer["bias"]


def transformer_layer(width):
    return {"norm1": norm(width), "norm2": norm(width), "qkv": linear(width, 3 * width), "out": linear(width, width),
            "up": linear(width, 4 * width), "down": linear(4 * width, width)}


def attention(layer, x, heads, mask=None):
    q, k, v = (part.reshape(*x.shape[:2], heads, -1) for part in jnp.split(apply(layer["qkv"], x), 3, -1))
    y = jax.nn.dot_product_attention(q, k, v, mask=mask, is_causal=mask is None)
    return apply(layer["out"], y.reshape(x.shape))


def transformer(vocabulary, positions, width, layers):
    return {"tokens": normal(vocabulary, width), "positions": normal(positions, width), "norm": norm(width),
            "layers": [transformer_layer(width) for _ in range(layers)]}


def gpt(vocabulary, positions, width, layers, heads, batch, length):
    def loss(p, statistics, ids, labels):
        x = p["tokens"][ids] + p["positions"][:length]
        for layer in p["layers"]:
            x = x + attention(layer, layer_norm(layer["norm1"], x, 1e-5), heads)
            hidden = jax.nn.gelu(apply(layer["up"], layer_norm(layer["norm2"], x, 1e-5)), approximate=True)
            x = x + apply(layer["down"], hidden)
        return cross_entropy(low(layer_norm(p["norm"], x, 1e-5)) @ low(p["tokens"].T), labels), statistics

    batch = integers(vocabulary, batch, length), integers(vocabulary, batch, length)
    return transformer(vocabulary, positions, width, layers), {}, loss, batch


def bert_base():
    vocabulary, width, heads, batch, length = 30522, 768, 12, 8, 128

    def loss(p, statistics, ids, mask, types, labels):
        x = layer_norm(p["norm"], p["tokens"][ids] + p["types"][types] + p["positions"][:length], 1e-12)
        mask = jnp.broadcast_to(mask[:, None, None, :].astype(bool), (batch, 1, length, length))
        for layer in p["layers"]:
            x = layer_norm(layer["norm1"], x + attention(layer, x, heads, mask), 1e-12)
            hidden = jax.nn.gelu(apply(layer["up"], x), approximate=False)
            x = layer_norm(layer["norm2"], x + apply(layer["down"], hidden), 1e-12)
        x = layer_norm(p["head_norm"], jax.nn.gelu(apply(p["head"], x), approximate=False), 1e-12)
        return cross_entropy(x @ p["tokens"].T + p["bias"], labels), statistics

    parameters = transformer(vocabulary, 512, width, 12)
    parameters |= {"types": normal(2, width), "head": linear(width, width), "head_norm": norm(width), "bias": jnp.zeros(vocabulary)}
    ids, labels = integers(vocabulary, batch, length), integers(vocabulary, batch, length)
    return parameters, {}, loss, (ids, integers(2, batch, length), integers(2, batch, length), labels)


MAKERS = {
    "resnet18-cifar": functools.partial(resnet, [2, 2, 2, 2], False, True, 10, 32, 32),
    "resnet50": functools.partial(resnet, [3, 4, 6, 3], True, False, 1000, 8, 224),
    "gpt-d256": functools.partial(gpt, 4096, 256, 256, 6, 8, 4, 256),
    "gpt2-124m": functools.partial(gpt, 50257, 1024, 768, 12, 12, 4, 64),
    "bert-base": bert_base,
}


# Optimizers: (state, parameters, gradients) -> (state, parameters).


def sgd(settings, parameters):
    def update(velocities, parameters, gradients):
        decayed = jax.tree.map(lambda p, g: g + settings["weight_decay"] * p, parameters, gradients)
        velocities = jax.tree.map(lambda v, g: settings["momentum"] * v + g, velocities, decayed)
        return velocities, jax.tree.map(lambda p, v: p - settings["learning_rate"] * v, parameters, velocities)

    return jax.tree.map(jnp.zeros_like, parameters), update


def adamw(settings, parameters):
    (b1, b2), rate = settings["betas"], settings["learning_rate"]

    def update(state, parameters, gradients):
        count = state["count"] + 1
        first = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state["first"], gradients)
        second = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, state["second"], gradients)

        def moved(p, m, v):
            root = jnp.sqrt(v / (1 - b2**count)) + settings["epsilon"]
            return p * (1 - rate * settings["weight_decay"]) - rate / (1 - b1**count) * m / root

        parameters = jax.tree.map(moved, parameters, first, second)
        return {"first": first, "second": second, "count": count}, parameters

    zeros = [jax.tree.map(jnp.zeros_like, parameters) for _ in range(2)]
    return {"first": zeros[0], "second": zeros[1], "count": jnp.float32(0)}, update


def stepper(name, settings, precision):
    """(state, step(state, batch) -> (state, loss), batch) of a whole training step."""
    global products
    products = {"f32": jnp.float32, "bf16": jnp.bfloat16}[precision]
    if name in networks.NETWORKS:
        parameters, statistics, loss, batch = peer_jax_networks.made(networks.NETWORKS[name], low, cross_entropy)
    else:
        parameters, statistics, loss, batch = MAKERS[name]()
    slots, update = {"sgd": sgd, "adamw": adamw}[settings["type"]](settings, parameters)

    def step(state, batch):
        parameters, statistics, slots = state
        (value, statistics), gradients = jax.value_and_grad(loss, has_aux=True)(parameters, statistics, *batch)
        slots, parameters = update(slots, parameters, gradients)
        return (parameters, statistics, slots), value

    return (parameters, statistics, slots), step, batch
