"""PyTorch's side of the bench on ranks: `torch.distributed.run` starts it, or it runs alone.

Prints on rank 0 the milliseconds of a step, one line for each measured one. A rank has
one thread and the workload's batch, as a rank of Gradus has.
"""

import os
import sys
import time

import peer_torch
import torch
import workloads

workload, seconds = workloads.BY_NAME[sys.argv[1]], float(sys.argv[2])
torch.set_num_threads(1)
ranks = int(os.environ.get("WORLD_SIZE", "1"))
if ranks > 1:
    torch.distributed.init_process_group("gloo")
model, inputs, target, loss_of = peer_torch.made(workload)
if ranks > 1:
    model = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
step = peer_torch.training(workload, (model, inputs, target, loss_of), "eager")


def measured(steps):
    start = time.perf_counter()
    for _ in range(steps):
        step()
    return (time.perf_counter() - start) / steps


measured(3)
steps = torch.tensor(max(1, int(seconds / 5 / measured(1))))
if ranks > 1:
    torch.distributed.broadcast(steps, 0)
for _ in range(5):
    once = measured(int(steps))
    if os.environ.get("RANK", "0") == "0":
        print(f"{once * 1e3:.6f}", flush=True)
if ranks > 1:  # gloo's threads may end with "terminate called" where the interpreter ends in order
    torch.distributed.barrier()
    os._exit(0)
