#!/usr/bin/env python3
"""Records ten steps of each of PyTorch's optimizers, and of timm's Lion, with
groups and schedules.

Each case becomes one JSON file beside this script: the recipe that means the
same, parameters, gradients and the parameters after each step, f32. The
tolerance of a case is ten times what f32 itself moves the result by (the same
code in f64), at least 2e-6. Run it with a Python that has PyTorch and timm.
"""

import json
import os

import timm.optim
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
SHAPES = {"body.weight": (6, 5), "body.bias": (6,), "norm.weight": (6,), "head.weight": (3, 6), "head.bias": (3,)}
STEPS = 10


def numbers(seed, *shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 2 - 1


START = {name: numbers(i, *shape).float() for i, (name, shape) in enumerate(SHAPES.items())}
GRADIENTS = {name: (numbers(100 + i, STEPS, *shape) * 0.5).float() for i, (name, shape) in enumerate(SHAPES.items())}


def all_parameters(parameters):
    return list(parameters.values())


def decay_of_matrices(decay):
    """Parameter groups as most training scripts make them."""
    def split(parameters):
        matrices = [value for value in parameters.values() if value.ndim >= 2]
        vectors = [value for value in parameters.values() if value.ndim < 2]
        return [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]
    return split


def head_apart(rate, **own):
    """The head has a rate of its own, and the norm stays as it is."""
    def split(parameters):
        head = [value for name, value in parameters.items() if name.startswith("head.")]
        rest = [value for name, value in parameters.items() if not name.startswith(("head.", "norm."))]
        return [{"params": rest}, {"params": head, "lr": rate, **own}]
    return split


def run(make, schedule, dtype, clip):
    parameters = {name: value.to(dtype).clone().requires_grad_() for name, value in START.items()}
    optimizer = make(parameters)
    scheduler = schedule(optimizer) if schedule else None
    after = {name: [] for name in parameters}
    for step in range(STEPS):
        for name, value in parameters.items():
            value.grad = GRADIENTS[name][step].to(dtype)
        if clip:
            clip(parameters.values())
        optimizer.step()
        if scheduler:
            scheduler.step()
        for name, value in parameters.items():
            after[name].append(value.detach().clone())
    return {name: torch.stack(values) for name, values in after.items()}


def tensor(value):
    return {"shape": list(value.shape), "dtype": "float32", "data": [float(f"{x:.9g}") for x in value.flatten().tolist()]}


def record(name, recipe, make, schedule=None, clip=None, least=2e-6,
           source=f"PyTorch {torch.__version__.split('+')[0]}"):
    single, double = (run(make, schedule, dtype, clip) for dtype in (torch.float32, torch.float64))
    moved = max(((single[k].double() - double[k]).abs() / (double[k].abs() + 1e-3)).max().item() for k in single)
    limit = max(least, 10 * moved)
    case = {"format": "gradus-trajectory/1", "name": name, "kind": "trajectory",
            "source": source, "recipe": recipe,
            "inputs": {"parameters": {k: tensor(v) for k, v in START.items()},
                       "gradients": {k: tensor(v) for k, v in GRADIENTS.items()}},
            "expected": {"parameters_after_step": {k: tensor(v) for k, v in single.items()}},
            "tolerance": {"rtol": limit, "atol": limit * 1e-3}}
    with open(os.path.join(HERE, name + ".json"), "w") as file:
        json.dump(case, file, separators=(",", ":"))
        file.write("\n")


def simple(name, cls, groups=all_parameters, schedule=None, clip=None, recipe=None, least=2e-6, **settings):
    """A case whose recipe's optimizer has other names for the same settings."""
    record(name, recipe, lambda parameters: cls(groups(parameters), foreach=False, **settings), schedule, clip, least)


class Pair:
    """Two optimizers that step together."""

    def __init__(self, *optimizers):
        self.optimizers = optimizers

    def step(self):
        for optimizer in self.optimizers:
            optimizer.step()


def muon(parameters):
    matrix = [parameters["body.weight"]]
    rest = [value for name, value in parameters.items() if name != "body.weight"]
    return Pair(torch.optim.Muon(matrix, lr=0.02), torch.optim.AdamW(rest, lr=0.003, foreach=False))


def main():
    o, s = torch.optim, torch.optim.lr_scheduler
    head = [{"match": ["head.*"], "learning_rate": 0.03}, {"match": ["norm.*"], "frozen": True}]
    simple("sgd_groups_step", o.SGD, head_apart(0.03), lambda opt: s.StepLR(opt, 3, 0.5), lr=0.1, momentum=0.9, nesterov=True,
           recipe={"optimizer": {"type": "sgd", "learning_rate": 0.1, "momentum": 0.9, "nesterov": True}, "groups": head,
                   "schedule": {"learning_rate": [{"type": "step", "period": 3, "rate": 0.5}]}})
    simple("sgd_maximize_dampening", o.SGD, lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.1, maximize=True,
           recipe={"optimizer": {"type": "sgd", "learning_rate": 0.1, "momentum": 0.9, "dampening": 0.3,
                                 "weight_decay": 0.1, "maximize": True}})
    simple("adam_groups_cosine", o.Adam, head_apart(0.03), lambda opt: s.CosineAnnealingLR(opt, 10, 0.0), lr=0.01,
           weight_decay=0.05, amsgrad=True,
           recipe={"optimizer": {"type": "adam", "learning_rate": 0.01, "weight_decay": 0.05, "amsgrad": True}, "groups": head,
                   "schedule": {"learning_rate": [{"type": "cosine", "steps": 10}]}})
    warm = [{"type": "linear", "steps": 4, "initial": 0.25, "final": 1.0}, {"type": "exponential", "rate": 0.8}]
    simple("adamw_matrices_warmup", o.AdamW, decay_of_matrices(0.1),
           lambda opt: s.SequentialLR(opt, [s.LinearLR(opt, 0.25, 1.0, 4), s.ExponentialLR(opt, 0.8)], [4]), lr=0.01,
           recipe={"optimizer": {"type": "adamw", "learning_rate": 0.01, "weight_decay": 0.1}, "weight_decay_for": "matrices",
                   "schedule": {"learning_rate": warm}})
    simple("adamax_polynomial", o.Adamax, schedule=lambda opt: s.PolynomialLR(opt, 12, 2.0), lr=0.02, weight_decay=0.1,
           recipe={"optimizer": {"type": "adamax", "learning_rate": 0.02, "weight_decay": 0.1},
                   "schedule": {"learning_rate": [{"type": "polynomial", "steps": 12, "power": 2.0}]}})
    simple("nadam", o.NAdam, lr=0.01, weight_decay=0.1, recipe={"optimizer": {"type": "nadam", "learning_rate": 0.01, "weight_decay": 0.1}})
    simple("nadam_decoupled", o.NAdam, decay_of_matrices(0.1), lr=0.01, decoupled_weight_decay=True,
           recipe={"optimizer": {"type": "nadam", "learning_rate": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True},
                   "weight_decay_for": "matrices"})
    simple("radam", o.RAdam, lr=0.01, weight_decay=0.1, betas=(0.9, 0.99),
           recipe={"optimizer": {"type": "radam", "learning_rate": 0.01, "weight_decay": 0.1, "betas": [0.9, 0.99]}})
    simple("rmsprop_multi_step", o.RMSprop, schedule=lambda opt: s.MultiStepLR(opt, [3, 7], 0.1), lr=0.01, centered=True,
           momentum=0.5, weight_decay=0.1,
           recipe={"optimizer": {"type": "rmsprop", "learning_rate": 0.01, "centered": True, "momentum": 0.5, "weight_decay": 0.1},
                   "schedule": {"learning_rate": [{"type": "multi_step", "milestones": [3, 7], "rate": 0.1}]}})
    simple("adagrad_groups", o.Adagrad, head_apart(0.03), lr=0.1, lr_decay=0.1, initial_accumulator_value=0.2, weight_decay=0.1,
           recipe={"optimizer": {"type": "adagrad", "learning_rate": 0.1, "learning_rate_decay": 0.1, "initial_accumulator": 0.2,
                                 "weight_decay": 0.1}, "groups": head})
    simple("adadelta", o.Adadelta, lr=1.0, weight_decay=0.1, recipe={"optimizer": {"type": "adadelta", "weight_decay": 0.1}})
    simple("adafactor", o.Adafactor, lr=0.05, weight_decay=0.1,
           recipe={"optimizer": {"type": "adafactor", "learning_rate": 0.05, "weight_decay": 0.1}})
    simple("asgd", o.ASGD, lr=0.05, lambd=0.01, t0=3, weight_decay=0.1,
           recipe={"optimizer": {"type": "asgd", "learning_rate": 0.05, "lambda": 0.01, "start": 3, "weight_decay": 0.1}})
    simple("rprop", o.Rprop, lr=0.02, recipe={"optimizer": {"type": "rprop", "learning_rate": 0.02}})
    simple("sgd_global_norm", o.SGD, clip=lambda parameters: torch.nn.utils.clip_grad_norm_(parameters, 0.7), lr=0.1, momentum=0.9,
           recipe={"optimizer": {"type": "sgd", "learning_rate": 0.1, "momentum": 0.9}, "clip": {"type": "global_norm", "value": 0.7}})
    simple("adam_value", o.Adam, clip=lambda parameters: torch.nn.utils.clip_grad_value_(parameters, 0.2), lr=0.01,
           recipe={"optimizer": {"type": "adam", "learning_rate": 0.01}, "clip": {"type": "value", "value": 0.2}})
    record("muon", {"optimizer": {"type": "muon", "learning_rate": 0.02, "others": {"type": "adamw", "learning_rate": 0.003}}},
           muon, least=1e-5)
    record("lion", {"optimizer": {"type": "lion", "learning_rate": 0.01, "weight_decay": 0.1}},
           lambda parameters: timm.optim.Lion(parameters.values(), lr=0.01, weight_decay=0.1, foreach=False),
           source=f"timm {timm.__version__}")


if __name__ == "__main__":
    main()
