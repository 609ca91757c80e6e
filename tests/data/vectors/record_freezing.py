#!/usr/bin/env python3
"""Records runs of PyTorch in which parameters rest in a part of the steps.

Each case becomes one JSON file beside this script: a small network, its recipe,
losses and parameters after each batch. A parameter rests by `requires_grad_(False)`,
so that PyTorch neither differentiates by it nor moves it. Run it with a Python
that has PyTorch.
"""

import json
import os

import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

HERE = os.path.dirname(os.path.abspath(__file__))
DIMS, ROWS, BATCH = [3, 4, 4, 2], 12, 3


def network(dtype):
    torch.manual_seed(7)
    layers = {f"fc{i + 1}": torch.nn.Linear(DIMS[i], DIMS[i + 1]) for i in range(len(DIMS) - 1)}
    net = torch.nn.Sequential()
    for name, layer in layers.items():
        if len(net):
            net.append(torch.nn.Tanh())
        net.add_module(name, layer)
    return net.to(dtype)


def numbers(seed, *shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


X, Y = numbers(1, ROWS, DIMS[0]), numbers(2, ROWS, DIMS[-1])


def run(case, dtype):
    """Losses and parameters after each batch, and averages at the end."""
    net = network(dtype)
    optimizer = case["make"](net.parameters())
    average = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(case["ema"])) if "ema" in case else None
    batches = case.get("accumulation", 1)
    losses, after = [], {name: [] for name, _ in net.named_parameters()}
    for step in range(case["steps"]):
        for name, parameter in net.named_parameters():
            parameter.requires_grad_(not case["rests"](name, step // batches))
        rows = [(step * BATCH + i) % ROWS for i in range(BATCH)]
        loss = ((net(X[rows].to(dtype)) - Y[rows].to(dtype)) ** 2).mean()
        (loss / batches).backward()
        losses.append(loss.detach())
        if step % batches == batches - 1:
            if "clip" in case:
                torch.nn.utils.clip_grad_norm_(net.parameters(), case["clip"])
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            if average:
                average.update_parameters(net)
        for name, parameter in net.named_parameters():
            after[name].append(parameter.detach().clone())
    averages = {name: value.detach() for name, value in average.module.named_parameters()} if average else {}
    return torch.stack(losses), {name: torch.stack(values) for name, values in after.items()}, averages


def tensor(value):
    return {"shape": list(value.shape), "dtype": "float32", "data": [float(f"{x:.9g}") for x in value.flatten().tolist()]}


def record(name, what, recipe, **case):
    losses, after, averages = run(case, torch.float32)
    exact = run(case, torch.float64)
    moved = max(((after[k].double() - exact[1][k]).abs() / (exact[1][k].abs() + 1e-2)).max().item() for k in after)
    limit = max(1e-5, 10 * moved)
    start = {k: tensor(v.detach()) for k, v in network(torch.float32).named_parameters()}
    file = {"format": "gradus-vector/1", "name": name, "kind": "freeze_run", "what": what,
            "source": {"implementation": "PyTorch", "version": torch.__version__.split("+")[0], "api": "Tensor.requires_grad_",
                       "device": "CPU"},
            "recipe": {"loss": "mse", **recipe},
            "hyperparameters": {"dims": DIMS, "micro_batch": BATCH},
            "inputs": {"parameters": start, "x": tensor(X), "y": tensor(Y)},
            "expected": {"loss": tensor(losses), "parameters_after_step": {k: tensor(v) for k, v in after.items()}},
            "tolerance": {"rtol": limit, "atol": limit * 1e-2, "rtol_loss": limit}}
    if averages:
        file["expected"]["averages_after_last_step"] = {k: tensor(v) for k, v in averages.items()}
    with open(os.path.join(HERE, name + ".json"), "w") as out:
        json.dump(file, out, separators=(",", ":"))
        out.write("\n")


def first_layer(name):
    return name.startswith("fc1.")


def before_last_layer(name):
    return not name.startswith("fc3.")


def main():
    o = torch.optim
    record("freeze_from_torch", "layers stop one after the other, from the first one on; the mean of two batches is an update",
           {"optimizer": {"type": "sgd", "learning_rate": 0.1, "momentum": 0.9, "weight_decay": 0.01}, "accumulation": 2,
            "ema": {"decay": 0.75}, "gradient_freeze": {"from": {"fc1.*": 2, "fc2.*": 4}}},
           make=lambda p: o.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01), steps=12, accumulation=2, ema=0.75,
           rests=lambda name, update: (first_layer(name) and update >= 2) or (before_last_layer(name) and update >= 4))
    record("freeze_until_torch", "layers begin one after the other, from the last one on; each counts its own updates",
           {"optimizer": {"type": "adam", "learning_rate": 0.02}, "clip": {"type": "global_norm", "value": 0.5},
            "ema": {"decay": 0.5}, "gradient_freeze": {"until": {"fc1.*": 4, "fc2.*": 2}}},
           make=lambda p: o.Adam(p, lr=0.02), steps=8, clip=0.5, ema=0.5,
           rests=lambda name, update: (first_layer(name) and update < 4) or (before_last_layer(name) and update < 2))
    record("freeze_last_layers_torch", "the last layer alone is trained",
           {"optimizer": {"type": "adamw", "learning_rate": 0.02, "weight_decay": 0.1}, "gradient_freeze": {"last_layers": 1}},
           make=lambda p: o.AdamW(p, lr=0.02, weight_decay=0.1), steps=4, rests=lambda name, update: before_last_layer(name))
    strategy = [0, 1, 0, 1, 1, 0]
    record("freeze_strategy_torch", "a list says for each update, the mean of two batches, whether the first layer rests",
           {"optimizer": {"type": "sgd", "learning_rate": 0.1, "momentum": 0.9}, "accumulation": 2, "ema": {"decay": 0.5},
            "clip": {"type": "global_norm", "value": 0.5}, "gradient_freeze": {"groups": 3, "strategy": strategy}},
           make=lambda p: o.SGD(p, lr=0.1, momentum=0.9), steps=14, accumulation=2, ema=0.5, clip=0.5,
           rests=lambda name, update: strategy[update % len(strategy)] == 1 and first_layer(name))


if __name__ == "__main__":
    main()
