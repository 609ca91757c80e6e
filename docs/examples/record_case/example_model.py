"""A model to record: four names that record_case.py reads."""

import torch
from torch import nn

torch.manual_seed(0)

LOSS = {"type": "softmax_cross_entropy", "class_axis": 1}  # or {"type": "mse"}
OPTIMIZERS = {"sgd": {"type": "sgd", "lr": 0.1, "momentum": 0.9}, "adamw": {"type": "adamw", "lr": 0.01, "weight_decay": 0.01}}


def model():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(4 * 6 * 6, 10))


def batches():
    """Inputs by name, in the order of forward's arguments, and the labels."""
    return [({"image": torch.randn(8, 1, 8, 8)}, torch.randint(0, 10, (8,))) for _ in range(2)]
