"""PyTorch's side of the bench: does the named workload when told to, at its best.

Best means fused optimizers, channels_last for convolutions, gradients set to
None, and tcmalloc preloaded (by the driver). Protocol: see worker.py.
"""

import peer_torch_models
import torch
import worker
import workloads
from torch import nn

torch.set_num_threads(workloads.THREADS)
torch.manual_seed(0)


class LeNet5(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def mlp():
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
    return model, (torch.randn(16, 32),), torch.randn(16, 1), nn.functional.mse_loss


def lenet():
    model = LeNet5().to(memory_format=torch.channels_last)
    image = torch.randn(32, 1, 28, 28).contiguous(memory_format=torch.channels_last)
    return model, (image,), torch.randint(10, (32,)), nn.functional.cross_entropy


def full_size(name):
    return *peer_torch_models.MAKERS[name](), peer_torch_models.cross_entropy


def training(workload, made, how):
    """A function that makes one training step."""
    model, inputs, target, loss_of = made
    optimizer = peer_torch_models.optimizer_of(workload.optimizer(), model.parameters())

    def forward(inputs, target):
        with torch.autocast("cpu", torch.bfloat16, enabled=workload.precision == "bf16"):
            return loss_of(model(*inputs), target)

    if how == "compile":
        forward = torch.compile(forward)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = forward(inputs, target)
        loss.backward()
        optimizer.step()
        return loss

    return step


def adamw(how):
    parameters = [nn.Parameter(torch.randn(shape) * 0.02) for shape in workloads.ADAMW_SHAPES]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter) * 0.01
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.01, fused=how == "eager")
    return torch.compile(optimizer.step) if how == "compile" else optimizer.step


def made(workload):
    """Model, inputs, target and loss."""
    if workload.is_shared:
        return peer_torch_models.shared(workload.network)
    if workload.group == workloads.FULL_SIZE:
        return full_size(workload.network)
    return lenet() if workload.name == "lenet5" else mlp()


def load(workload, how):
    step = adamw(how) if workload.is_optimizer else training(workload, made(workload), how)

    def run(steps):
        for _ in range(steps):
            loss = step()
            if workload.name == "mlp":
                loss.item()
        return loss

    return run


if __name__ == "__main__":
    worker.serve(load)
