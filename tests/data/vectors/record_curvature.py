#!/usr/bin/env python3
"""Records runs of THOR and K-FAC by a model in NumPy and float64.

The model is written from the method's description, layer by layer, and shares
nothing with the compiler. Each case becomes one JSON file beside this script.
Run it with a Python that has NumPy.

A layer keeps what went in and the gradient d of the mean loss by what came out.
With B samples that count, and means over all rows:

  dense        A = mean of x x^T, G = B^2 times the mean of d d^T
  convolution  x is the patch under the window, so there is a row for each of
               the P places of each image; each group has its own A and G
  embedding    A is a vector, how often each row is read, over B; G as above
  layer norm   scale and bias get g / (g^2 / B + sqrt(lambda))

With `bias` "joined" the bias of a dense layer or a convolution is a column
behind those of its weight, and x has a 1 behind its elements. Weight decay is
added to directions; with `placement` "after_weight_decay" it is added to
gradients first. With `clip_update` what the velocity gets, decay included, has
at most that norm for each parameter.

With `decay` the factors are means over measurements, where one that is k
measurements old weighs decay^k, over the sum of all weights. sqrt(lambda), for
convolutions sqrt(lambda / P), is added to both diagonals, with `pi` times pi to
A and over pi to G, pi = sqrt(mean of A's diagonal / mean of G's), in [1e-3, 1e3].
Diagonal blocks are inverted. The direction is G^-1 g A^-1, over P.
"""

import json
import os

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 10


class Dense:
    kind = "dense"

    def __init__(self, layer):
        self.weight, self.bias = layer["fc"] + ".weight", layer["fc"] + ".bias"

    def forward(self, p, x):
        self.x = x
        return x @ p[self.weight].T + p.get(self.bias, 0)

    def backward(self, p, d):
        x, rows = self.x.reshape(-1, self.x.shape[-1]), d.reshape(-1, d.shape[-1])
        self.sides, self.places = ([x], [rows]), 1
        return d @ p[self.weight], {self.weight: rows.T @ x, self.bias: rows.sum(0)}


class Convolution:
    kind = "convolution"

    def __init__(self, layer):
        self.weight, self.bias = layer["conv"] + ".weight", layer["conv"] + ".bias"
        self.stride, self.pad, self.dilation, self.groups = layer["stride"], layer["padding"], layer["dilation"], layer["groups"]

    def windows(self, shape, taps):
        """The padded size, and for each tap its slices at all places."""
        padded = [shape[2 + a] + 2 * self.pad[a] for a in (0, 1)]
        places = [(padded[a] - self.dilation[a] * (taps[a] - 1) - 1) // self.stride[a] + 1 for a in (0, 1)]
        span = lambda a, tap: slice(tap * self.dilation[a], tap * self.dilation[a] + self.stride[a] * (places[a] - 1) + 1,
                                    self.stride[a])
        return padded, places, [(span(0, i), span(1, j)) for i in range(taps[0]) for j in range(taps[1])]

    def forward(self, p, x):
        w = p[self.weight]
        self.shape = x.shape
        padded, places, spans = self.windows(x.shape, w.shape[2:])
        image = np.zeros((*x.shape[:2], *padded))
        image[:, :, self.pad[0]:self.pad[0] + x.shape[2], self.pad[1]:self.pad[1] + x.shape[3]] = x
        # [N, C, taps, H, W] -> rows [N H W, C taps]
        patches = np.stack([image[:, :, a, b] for a, b in spans], 2).transpose(0, 3, 4, 1, 2).reshape(-1, x.shape[1] * len(spans))
        self.patches, self.places = np.split(patches, self.groups, 1), places[0] * places[1]
        parts = [m @ v.reshape(len(v), -1).T for m, v in zip(self.patches, np.split(w, self.groups))]
        y = np.concatenate(parts, 1).reshape(len(x), *places, len(w)).transpose(0, 3, 1, 2)
        return y + p[self.bias][:, None, None] if self.bias in p else y

    def backward(self, p, d):
        w = p[self.weight]
        rows = np.split(d.transpose(0, 2, 3, 1).reshape(-1, len(w)), self.groups, 1)
        self.sides = (self.patches, rows)
        dw = np.concatenate([r.T @ m for r, m in zip(rows, self.patches)]).reshape(w.shape)
        padded, places, spans = self.windows(self.shape, w.shape[2:])
        dm = np.concatenate([r @ v.reshape(len(v), -1) for r, v in zip(rows, np.split(w, self.groups))], 1)
        dm = dm.reshape(self.shape[0], *places, self.shape[1], len(spans)).transpose(0, 3, 4, 1, 2)
        image = np.zeros((*self.shape[:2], *padded))
        for tap, (a, b) in enumerate(spans):
            image[:, :, a, b] += dm[:, :, tap]
        dx = image[:, :, self.pad[0]:self.pad[0] + self.shape[2], self.pad[1]:self.pad[1] + self.shape[3]]
        return dx, {self.weight: dw, self.bias: d.sum((0, 2, 3))}


class Embedding:
    kind = "embedding"

    def __init__(self, layer):
        self.weight = layer["embedding"] + ".weight"

    def forward(self, p, ids):
        self.ids = ids
        return p[self.weight][ids]

    def backward(self, p, d):
        rows, dw = d.reshape(-1, d.shape[-1]), np.zeros_like(p[self.weight])
        np.add.at(dw, self.ids.reshape(-1), rows)
        counts = np.bincount(self.ids.reshape(-1), minlength=len(dw)).astype(float)
        self.sides, self.places = (counts, [rows]), 1
        return None, {self.weight: dw}


class LayerNorm:
    kind = "layer_norm"

    def __init__(self, layer):
        self.weight, self.bias = layer["layer_norm"] + ".weight", layer["layer_norm"] + ".bias"

    def forward(self, p, x):
        centered = x - x.mean(-1, keepdims=True)
        self.scale = 1 / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5)
        self.normal = centered * self.scale
        return self.normal * p[self.weight] + p[self.bias]

    def backward(self, p, d):
        over, n = tuple(range(d.ndim - 1)), self.normal
        e = d * p[self.weight]
        dx = self.scale * (e - e.mean(-1, keepdims=True) - n * (e * n).mean(-1, keepdims=True))
        return dx, {self.weight: (d * n).sum(over), self.bias: d.sum(over)}


class Relu:
    kind = "relu"

    def forward(self, p, x):
        self.positive = x > 0
        return x * self.positive

    def backward(self, p, d):
        return d * self.positive, {}


class Flatten:
    kind = "flatten"

    def forward(self, p, x):
        self.shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, p, d):
        return d.reshape(self.shape), {}


def layer_of(layer):
    if isinstance(layer, str):
        return {"relu": Relu, "flatten": Flatten}[layer]()
    return {"fc": Dense, "conv": Convolution, "embedding": Embedding, "layer_norm": LayerNorm}[next(iter(layer))](layer)


def gradients(layers, p, x, y):
    """The mean cross-entropy over labels that are not -100, all gradients, and the number of these labels."""
    for layer in layers:
        x = layer.forward(p, x)
    logits, labels = x.reshape(-1, x.shape[-1]), y.reshape(-1)
    counts, rows = labels != -100, np.arange(labels.size)
    logits = logits - logits.max(1, keepdims=True)
    log = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    picked = np.where(counts, labels, 0)
    number = counts.sum()
    d = np.exp(log)
    d[rows, picked] -= 1
    d = (d * counts[:, None] / number).reshape(x.shape)
    found = {}
    for layer in reversed(layers):
        d, own = layer.backward(p, d)
        found.update({name: g for name, g in own.items() if name in p})
    return -(log[rows, picked] * counts).sum() / number, found, number


def joins(layer, h, p):
    """Whether the layer has a bias that joins its weight."""
    return h.get("bias") == "joined" and layer.kind in ("dense", "convolution") and layer.bias in p


def measured(layer, number, joined):
    """A and G of a layer, one of each for a group."""
    inputs, outputs = layer.sides
    if joined:
        inputs = [np.concatenate([m, np.ones((len(m), 1))], 1) for m in inputs]
    moments = lambda sides: [m.T @ m / len(m) for m in sides]
    a = [inputs / number] if layer.kind == "embedding" else moments(inputs)
    return a, [number**2 * g for g in moments(outputs)]


def inverse(factor, added, block):
    if factor.ndim == 1:
        return 1 / (factor + added)
    result = np.zeros_like(factor)
    for at in range(0, len(factor), block):
        part = slice(at, at + block)
        result[part, part] = np.linalg.inv(factor[part, part] + added * np.eye(len(factor[part, part])))
    return result


def inverses(layer, factors, damping, h):
    """The inverses of both sides of each group."""
    pairs = []
    for a, g in zip(*factors):
        mean = lambda f: f.mean() if f.ndim == 1 else np.trace(f) / len(f)
        pi = np.clip(np.sqrt(mean(a) / mean(g)), 1e-3, 1e3) if h["pi"] else 1
        root = np.sqrt(damping / layer.places)
        pairs.append((inverse(a, root * pi, h["block"]), inverse(g, root / pi, h["block"])))
    return pairs


def direction(layer, g, pairs):
    if layer.kind == "embedding":
        (a, b), = pairs
        return a[:, None] * g @ b
    parts = [b @ part.reshape(len(part), -1) @ a for part, (a, b) in zip(np.split(g, len(pairs)), pairs)]
    return np.concatenate(parts).reshape(g.shape) / layer.places


def joined_directions(layer, weight, bias, pairs):
    """Those of a weight and of the bias that joins it."""
    both = np.concatenate([weight.reshape(len(weight), -1), bias[:, None]], 1)
    both = direction(layer, both, pairs)
    return both[:, :-1].reshape(weight.shape), both[:, -1]


def run(h, p, x, y):
    """Losses, parameters after each step, and the inverses of the first step."""
    layers = [layer_of(layer) for layer in h["network"]]
    p, velocity = dict(p), {name: np.zeros_like(value) for name, value in p.items()}
    sums, kept, first, losses, after = {}, {}, {}, [], {name: [] for name in p}
    for step in range(STEPS):
        loss, found, number = gradients(layers, p, x[step], y[step])
        losses.append(loss)
        damping, decays_first = h["damping"][step], h.get("placement") == "after_weight_decay"
        if decays_first:
            found = {name: g + h["weight_decay"] * p[name] for name, g in found.items()}
        for layer in layers:
            if layer.kind == "layer_norm":
                for name in (layer.weight, layer.bias):
                    found[name] = found[name] / (found[name]**2 / number + np.sqrt(damping))
            if layer.kind not in ("dense", "convolution", "embedding"):
                continue
            name = layer.weight
            if step % h["measure_every"] == 0:
                now, (old, weight) = measured(layer, number, joins(layer, h, p)), sums.get(name, (None, 0))
                mix = lambda f, o: [v + h["decay"] * w for v, w in zip(f, o)]
                sums[name] = (now if old is None else (mix(now[0], old[0]), mix(now[1], old[1])), 1 + h["decay"] * weight)
            if step % h["frequency"] == 0:
                factors, weight = sums[name]
                kept[name] = inverses(layer, [[f / weight for f in side] for side in factors], damping, h)
                if step == 0:
                    first[name] = (kept[name], layer.places)
            if joins(layer, h, p):
                found[name], found[layer.bias] = joined_directions(layer, found[name], found[layer.bias], kept[name])
            else:
                found[name] = direction(layer, found[name], kept[name])
        for name in p:
            move = found[name] + (0 if decays_first else h["weight_decay"] * p[name])
            if "clip_update" in h:
                move = move * min(1, h["clip_update"] / np.linalg.norm(move))
            velocity[name] = h["momentum"] * velocity[name] + move
            p[name] = p[name] - h["learning_rate"][step] * velocity[name]
            after[name].append(p[name])
    return np.array(losses), {name: np.array(values) for name, values in after.items()}, first


def initial(h, shapes, draw):
    """Small weights, biases that are not zero, and scales about 1."""
    start = {}
    for name, shape in shapes.items():
        scale = 0.1 if len(shape) == 1 else 1 / np.sqrt(np.prod(shape[1:]))
        start[name] = scale * draw.standard_normal(shape) + (1 if "norm" in name and name.endswith("weight") else 0)
    return start


def tensor(value):
    kind = "int32" if value.dtype.kind == "i" else "float32"
    return {"shape": list(value.shape), "dtype": kind,
            "data": [int(v) if kind == "int32" else float(str(np.float32(v))) for v in value.reshape(-1)]}


def rounded(value):
    return value.astype(np.float32).astype(np.float64) if value.dtype.kind == "f" else value


def record(name, what, network, shapes, x, y, seed, **changes):
    h = {"type": "thor", "momentum": 0.9, "weight_decay": 5e-4, "loss_scale": 1.0, "frequency": 4, "measure_every": 4, "decay": 0.0,
         "pi": False, "block": 128, "learning_rate": list(np.linspace(0.05, 0.03, STEPS).round(6)),
         "damping": list(np.linspace(0.05, 0.03, STEPS).round(6)), "network": network, **changes}
    draw = np.random.default_rng(seed)
    scales = h.pop("scales", {})
    start = {k: rounded(v * scales.get(k, 1)).round(7) for k, v in initial(h, shapes, draw).items()}
    start = {k: rounded(v) for k, v in start.items()}
    x, y = rounded(x), y
    losses, after, first = run(h, start, x, y)
    # What a half-ulp on every input and weight changes says what f32 can reach.
    sway = lambda v: v * (1 + draw.uniform(-1, 1, v.shape) * 2.0**-24) if v.dtype.kind == "f" else v
    other = run(h, {k: sway(v) for k, v in start.items()}, sway(x), y)[1]
    moved = max((np.abs(after[k] - other[k]) / (np.abs(after[k]) + 1e-3)).max() for k in after)
    limit = max(1e-5, float(f"{40 * moved:.1g}"))
    file = {"format": "gradus-vector/1", "name": name, "kind": "thor",
            "source": {"implementation": "independent float64 NumPy model of the method's description", "version": "1"},
            "what": what, "hyperparameters": h,
            "inputs": {"parameters": {k: tensor(v) for k, v in start.items()}, "x": tensor(x), "y": tensor(y)},
            "expected": {"loss": tensor(losses), "step0": {k.removesuffix(".weight"): {
                "A_inverse": tensor(np.stack([a for a, _ in pairs])), "G_inverse": tensor(np.stack([g for _, g in pairs])),
                "post_factor": 1 / places} for k, (pairs, places) in first.items()}, "parameters_after_step": {k: tensor(v) for k, v in after.items()}},
            "tolerance": {"rtol": limit, "atol": limit * 1e-3, "test": "|got-want| <= rtol*|want| + atol",
                          "why": f"changing every input and weight by one float32 half-ulp moves the weights by {moved:.1e} in units of "
                                 "|want|+1e-3; the limit is 40 x that, at least 1e-5"}}
    with open(os.path.join(HERE, name + ".json"), "w") as out:
        json.dump(file, out, separators=(",", ":"))
        out.write("\n")


def language(seed, batch, length, words, ignored):
    """Tokens, of which few are frequent, and the next ones as labels; some of these are ignored, in each batch others."""
    draw = np.random.default_rng(seed)
    tokens = (words * draw.random((STEPS, batch, length + 1))**2).astype(int)
    labels = np.where(draw.random((STEPS, batch, length)) < ignored, -100, tokens[:, :, 1:])
    return tokens[:, :, :-1], labels


def images(seed, classes, *shape):
    draw = np.random.default_rng(seed)
    return draw.standard_normal((STEPS, *shape)).round(4), draw.integers(0, classes, (STEPS, shape[0]))


def convolution(name, taps, stride, padding, dilation, groups):
    return {"conv": name, "kernel": taps, "stride": stride, "padding": padding, "dilation": dilation, "groups": groups}


def main():
    x, y = language(1, 3, 4, 7, 0.3)
    record("thor_embedding", "a table and a dense head learn the next token; some labels are ignored",
           [{"embedding": "table"}, {"fc": "head"}], {"table.weight": (7, 6), "head.weight": (7, 6), "head.bias": (7,)}, x, y, 2,
           loss_scale=8.0)
    x, y = language(3, 2, 5, 6, 0.2)
    record("thor_embedding_blocks", "blocks of 4 with a smaller last one, on both sides; a layer norm between",
           [{"embedding": "table"}, {"layer_norm": "norm"}, {"fc": "hidden"}, "relu", {"fc": "head"}],
           {"table.weight": (6, 5), "norm.weight": (5,), "norm.bias": (5,), "hidden.weight": (9, 5), "hidden.bias": (9,),
            "head.weight": (6, 9)}, x, y, 4, block=4, frequency=3, measure_every=3)
    x, y = images(5, 4, 6, 5)
    record("thor_layer_norm", "a layer norm's scale and bias are divided by their own squares",
           [{"fc": "fc1"}, {"layer_norm": "norm"}, "relu", {"fc": "fc2"}],
           {"fc1.weight": (6, 5), "fc1.bias": (6,), "norm.weight": (6,), "norm.bias": (6,), "fc2.weight": (4, 6), "fc2.bias": (4,)},
           x, y, 6, loss_scale=32.0)
    x, y = images(7, 3, 4, 2, 7, 6)
    windows = [convolution("conv1", [3, 2], [2, 1], [1, 1], [1, 2], 1), "relu", convolution("conv2", [2, 2], [1, 2], [0, 1], [2, 1], 2),
               "relu", "flatten", {"fc": "fc"}]
    shapes = {"conv1.weight": (4, 2, 3, 2), "conv1.bias": (4,), "conv2.weight": (6, 2, 2, 2), "conv2.bias": (6,), "fc.weight": (3, 48)}
    record("thor_windows", "windows that are not square, with strides, padding, dilation and groups, in blocks of 5", windows,
           shapes, x, y, 8, block=5)
    x, y = images(9, 4, 8, 5)
    dense = [{"fc": "fc1"}, "relu", {"fc": "fc2"}, "relu", {"fc": "fc3"}]
    sizes = {"fc1.weight": (7, 5), "fc1.bias": (7,), "fc2.weight": (6, 7), "fc2.bias": (6,), "fc3.weight": (4, 6), "fc3.bias": (4,)}
    kfac = {"type": "kfac", "measure_every": 2, "decay": 0.9, "pi": True}
    record("kfac_dense", "factors are means over measurements, and damping is split by their traces", dense, sizes, x, y, 10,
           **kfac, loss_scale=16.0)
    record("kfac_clamp", "inputs so large that the split of damping ends at 1000", dense, sizes, 2.0**13 * x, y, 10, **kfac, block=3,
           scales={"fc1.weight": 2.0**-13}, learning_rate=[0.01] * STEPS)
    x, y = images(11, 3, 5, 2, 5, 5)
    record("kfac_convolution", "K-FAC of a convolution with strides and padding, in blocks of 8",
           [convolution("conv1", [3, 3], [2, 2], [1, 1], [1, 1], 1), "relu", "flatten", {"fc": "fc"}],
           {"conv1.weight": (4, 2, 3, 3), "conv1.bias": (4,), "fc.weight": (3, 36), "fc.bias": (3,)}, x, y, 12, **kfac, block=8)
    record("thor_joined_bias", "biases join their weights, in blocks of 3; the 1 is in a block of others or in its own", dense, sizes,
           *images(15, 4, 8, 5), 16, bias="joined", block=3, loss_scale=16.0)
    record("kfac_joined_bias", "biases join their weights in a mean over measurements, and the 1 counts in the trace", dense, sizes,
           *images(23, 4, 8, 5), 24, **kfac, bias="joined", block=4)
    record("thor_joined_windows", "biases of convolutions with groups join their weights, in blocks of 5", windows, shapes,
           *images(17, 3, 4, 2, 7, 6), 18, bias="joined", block=5)
    record("thor_clip_update", "what the optimizer gets, decay included, has at most the norm 0.7", dense, sizes, *images(19, 4, 8, 5), 20,
           clip_update=0.7, weight_decay=0.05)
    record("thor_after_decay", "gradients with weight decay are preconditioned", dense, sizes, *images(21, 4, 8, 5), 22,
           placement="after_weight_decay", weight_decay=0.05)
    x, y = language(13, 3, 4, 6, 0.3)
    record("kfac_embedding", "K-FAC of a table, a layer norm and a head with ignored labels",
           [{"embedding": "table"}, {"layer_norm": "norm"}, {"fc": "head"}],
           {"table.weight": (6, 5), "norm.weight": (5,), "norm.bias": (5,), "head.weight": (6, 5), "head.bias": (6,)}, x, y, 14, **kfac)


if __name__ == "__main__":
    main()
