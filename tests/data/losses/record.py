#!/usr/bin/env python3
"""Records values and gradients of PyTorch's losses in losses.json beside this script.

A case is a recipe's `loss`, an output `x` and labels with their shapes, and what
PyTorch computes of them in f64: the value, the gradient of `x`, and the value
for all samples but the last. Run it with a Python that has PyTorch.
"""

import json
import math
import os

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
generator = torch.Generator().manual_seed(4)


def values(*shape, scale=2.0):
    """Sixty-fourths in (-scale, scale), which f32 holds and a few digits say."""
    return torch.round((torch.rand(shape, generator=generator, dtype=torch.float64) * 2 - 1) * scale * 64) / 64


def classes(count, *shape, ignored=()):
    labels = torch.randint(count, shape, generator=generator)
    for index in ignored:
        labels.view(-1)[index] = -100
    return labels


def probabilities(*shape, axis=1):
    parts = torch.randint(1, 9, shape, generator=generator).double()
    return torch.round(parts / parts.sum(axis, keepdim=True) * 1024) / 1024


def signs(*shape):
    return torch.randint(2, shape, generator=generator).double() * 2 - 1


def bits(*shape):
    return torch.randint(2, shape, generator=generator).double()


def last_axis_as_torch(loss):
    """PyTorch wants the classes second."""
    return lambda x, y: loss(x.movedim(-1, 1), y if y.dtype == torch.int64 else y.movedim(-1, 1))


W = [0.5, 2.0, 1.0, 0.25]
weights = torch.tensor(W, dtype=torch.float64)
EXTREMES = torch.tensor([[1e4, -1e4, 0, 3], [-1e4, -1e4, -1e4, -1e4], [1e38, 0, -1e38, 1], [90, -90, 88.5, 0]]).double()
ce, nll = F.cross_entropy, F.nll_loss


def cross_entropies():
    yield "plain", {}, values(6, 4), classes(4, 6), ce
    yield "sum", {"reduction": "sum"}, values(6, 4), classes(4, 6), lambda x, y: ce(x, y, reduction="sum")
    yield "ignored", {}, values(6, 4), classes(4, 6, ignored=(1, 4)), ce
    yield "all_ignored", {}, values(3, 4), classes(4, 3, ignored=(0, 1, 2)), ce
    yield "ignore_a_class", {"ignore_index": 2}, values(6, 4), classes(4, 6), lambda x, y: ce(x, y, ignore_index=2)
    yield "weights", {"class_weights": W}, values(6, 4), classes(4, 6, ignored=(3,)), lambda x, y: ce(x, y, weights)
    yield ("weights_sum", {"class_weights": W, "reduction": "sum"}, values(6, 4), classes(4, 6),
           lambda x, y: ce(x, y, weights, reduction="sum"))
    yield ("smoothing", {"label_smoothing": 0.1}, values(6, 4), classes(4, 6, ignored=(0,)),
           lambda x, y: ce(x, y, label_smoothing=0.1))
    yield ("weights_and_smoothing", {"class_weights": W, "label_smoothing": 0.25}, values(6, 4),
           classes(4, 6, ignored=(2,)), lambda x, y: ce(x, y, weights, label_smoothing=0.25))
    yield ("middle_axis", {"class_weights": W}, values(3, 4, 2, 3), classes(4, 3, 2, 3, ignored=(5, 7)),
           lambda x, y: ce(x, y, weights))
    yield ("last_axis", {"class_axis": -1, "label_smoothing": 0.1, "class_weights": W}, values(3, 5, 4),
           classes(4, 3, 5), last_axis_as_torch(lambda x, y: ce(x, y, weights, label_smoothing=0.1)))
    yield "soft", {"soft_labels": True}, values(6, 4), probabilities(6, 4), ce
    yield ("soft_weights_and_smoothing", {"soft_labels": True, "class_weights": W, "label_smoothing": 0.1},
           values(3, 4, 5), probabilities(3, 4, 5), lambda x, y: ce(x, y, weights, label_smoothing=0.1))
    yield ("soft_last_axis", {"soft_labels": True, "class_axis": 2, "reduction": "sum"}, values(2, 5, 4),
           probabilities(2, 5, 4, axis=2), last_axis_as_torch(lambda x, y: ce(x, y, reduction="sum")))
    yield "extreme", {}, EXTREMES, torch.tensor([2, 1, 0, 3]), ce
    yield ("extreme_weights", {"class_weights": W}, EXTREMES, torch.tensor([2, 1, 0, 3]),
           lambda x, y: ce(x, y, weights))
    yield "factor", {"weight": 0.25}, values(6, 4), classes(4, 6), lambda x, y: 0.25 * ce(x, y)


def likelihoods():
    logs = torch.round(F.log_softmax(values(5, 4), 1) * 1024) / 1024
    yield "plain", {}, logs, classes(4, 5, ignored=(1,)), nll
    yield "weights", {"class_weights": W}, logs, classes(4, 5), lambda x, y: nll(x, y, weights)
    yield ("pixels", {"class_weights": W, "reduction": "sum"}, values(2, 4, 3), classes(4, 2, 3, ignored=(4,)),
           lambda x, y: nll(x, y, weights, reduction="sum"))


def margins():
    yield "plain", {}, values(5, 4), classes(4, 5), F.multi_margin_loss
    yield ("square", {"power": 2, "margin": 0.5, "class_weights": W}, values(5, 4), classes(4, 5),
           lambda x, y: F.multi_margin_loss(x, y, p=2, margin=0.5, weight=weights))
    yield "sum", {"reduction": "sum"}, values(5, 4), classes(4, 5), lambda x, y: F.multi_margin_loss(x, y, reduction="sum")


def binary():
    bce = F.binary_cross_entropy_with_logits
    far = torch.tensor([[0, 0, 100, 100], [-100, -100, 1e4, 1e4], [-1e4, -1e4, 1e38, -1e38]]).double()
    yield "plain", {}, values(5, 3), bits(5, 3), bce
    yield "parts", {}, values(7), torch.abs(values(7, scale=1.0)), bce
    yield ("pos_weight", {"pos_weight": [3]}, values(5, 3), bits(5, 3),
           lambda x, y: bce(x, y, pos_weight=torch.tensor([3.0]).double()))
    yield ("pos_weights", {"pos_weight": [3, 0.5, 1]}, values(5, 2, 3), bits(5, 2, 3),
           lambda x, y: bce(x, y, pos_weight=torch.tensor([3, 0.5, 1]).double()))
    yield "extreme", {"reduction": "sum"}, far, torch.tensor([[0, 1.0]] * 6).double().view(3, 4), lambda x, y: bce(x, y, reduction="sum")


def distances():
    x, y = values(5, 3), values(5, 3)
    y[0, 0] = x[0, 0]
    for name, loss in (("mse", F.mse_loss), ("l1", F.l1_loss), ("smooth_l1", F.smooth_l1_loss), ("huber", F.huber_loss)):
        yield name, "plain", {}, x, y, loss
        yield name, "sum", {"reduction": "sum"}, x, y, lambda x, y, loss=loss: loss(x, y, reduction="sum")
        yield name, "deep", {}, values(2, 3, 2, 2), values(2, 3, 2, 2), loss
    yield "smooth_l1", "beta", {"beta": 0.25}, x, y, lambda x, y: F.smooth_l1_loss(x, y, beta=0.25)
    yield "smooth_l1", "beta_zero", {"beta": 0}, x, y, lambda x, y: F.smooth_l1_loss(x, y, beta=0)
    yield "huber", "delta", {"delta": 2.5}, x, y, lambda x, y: F.huber_loss(x, y, delta=2.5)


def divergences():
    logs = torch.round(F.log_softmax(values(4, 5), 1) * 1024) / 1024
    target = probabilities(4, 5)
    target[1, 2] = 0
    log_target = torch.round(F.log_softmax(values(4, 5), 1) * 1024) / 1024
    for reduction in ("mean", "sum", "batchmean"):
        yield reduction, {"reduction": reduction}, logs, target, lambda x, y, r=reduction: F.kl_div(x, y, reduction=r)
    yield ("log_target", {"log_target": True}, logs, log_target,
           lambda x, y: F.kl_div(x, y, reduction="mean", log_target=True))


def hinges():
    hinge = lambda x, y, margin=1.0: torch.clamp(margin - x * y, min=0).mean()
    yield "hinge", "plain", {}, values(5, 3), signs(5, 3), hinge
    yield "hinge", "margin", {"margin": 0.25}, values(5, 3), signs(5, 3), lambda x, y: hinge(x, y, 0.25)
    yield "hinge_embedding", "plain", {}, values(9), signs(9), F.hinge_embedding_loss
    yield ("hinge_embedding", "margin", {"margin": 0.5, "reduction": "sum"}, values(4, 3), signs(4, 3),
           lambda x, y: F.hinge_embedding_loss(x, y, margin=0.5, reduction="sum"))


def listed(tensor):
    """Nine digits, enough for f32; what JSON has no number for as text."""
    def number(value):
        if not math.isfinite(value):
            return str(value)
        value = float(f"{value:.9g}")
        return int(value) if value == int(value) and abs(value) < 1e6 else value
    return [number(value) for value in tensor.flatten().tolist()]


def record(kind, name, keys, x, y, loss):
    x = x.clone().requires_grad_()
    value = loss(x, y)
    value.backward()
    return {"name": f"{kind}_{name}", "loss": {"type": kind, **keys}, "shape": list(x.shape), "x": listed(x.detach()),
            "label_shape": list(y.shape), "label": listed(y), "value": listed(value.detach())[0],
            "gradient": listed(x.grad), "value_but_last": listed(loss(x[:-1], y[:-1]).detach())[0]}


cases = [record("softmax_cross_entropy", *case) for case in cross_entropies()]
cases += [record("nll", *case) for case in likelihoods()] + [record("multi_margin", *case) for case in margins()]
cases += [record("bce_with_logits", *case) for case in binary()] + [record(*case) for case in distances()]
cases += [record("kl_div", *case) for case in divergences()] + [record(*case) for case in hinges()]
lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
with open(os.path.join(HERE, "losses.json"), "w") as file:
    file.write(f'{{"source":"PyTorch {torch.__version__}, f64; recorded by record.py","cases":[\n{lines}\n]}}\n')
