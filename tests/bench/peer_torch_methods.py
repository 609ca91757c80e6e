"""PyTorch's side of `./dev bench --methods`: AdamW of 30 M parameters, fused, and one method at its best.

Protocol: see worker.py, but the only argument is the method.
"""

import copy
import sys
import time

import torch
import worker
import workloads
from torch import nn

torch.set_num_threads(workloads.THREADS)
method = sys.argv[1]
parameters = [nn.Parameter(torch.full(shape, 0.02)) for shape in workloads.ADAMW_SHAPES]
for parameter in parameters:
    parameter.grad = torch.full_like(parameter, 0.01)
optimizer = torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.01, fused=True)
weights = [parameter.detach() for parameter in parameters]
others = [weight.bfloat16() if method == "copies" else copy.deepcopy(weight) for weight in weights if method in ("copies", "ema")]
scaler = torch.amp.GradScaler("cpu", growth_interval=2**30, enabled=method in ("scale", "finite"))


def step():
    if method == "clip":
        nn.utils.clip_grad_norm_(parameters, 1.0, foreach=True)
    if method in ("scale", "finite"):  # PyTorch checks where it scales
        scaler.step(optimizer)
        scaler.update()
    else:
        optimizer.step()
    if method == "copies":
        torch._foreach_copy_(others, weights)
    if method == "ema":
        torch._foreach_lerp_(others, weights, 0.001)


def serve():
    scaler.scale(torch.zeros(1))  # makes its state
    start = time.perf_counter()
    step()
    worker.say(f"ready {time.perf_counter() - start:.3f}")
    for line in sys.stdin:
        start = time.perf_counter_ns()
        for _ in range(int(line.split()[1])):
            step()
        worker.say(f"done {time.perf_counter_ns() - start}")


serve()
