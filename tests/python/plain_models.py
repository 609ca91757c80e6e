"""The modules of models.txt that are made of torch.nn alone."""

import torch
from torch import nn


def mlp():
    return nn.Sequential(nn.Linear(20, 32), nn.GELU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 5))


def autoencoder():
    return nn.Sequential(nn.Linear(64, 32), nn.SiLU(), nn.Linear(32, 8), nn.ELU(), nn.Linear(8, 32), nn.LeakyReLU(0.1), nn.Linear(32, 64))


def lenet():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def conv_bn():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2),
                         nn.BatchNorm2d(16), nn.Hardswish(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 7))


def depthwise():
    return nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.PReLU(12), nn.Conv2d(12, 12, 3, padding=2, dilation=2, groups=12),
                         nn.InstanceNorm2d(12, affine=True), nn.Conv2d(12, 24, 1), nn.Mish(), nn.AvgPool2d(4), nn.Flatten(),
                         nn.Linear(24 * 16, 6))


def group_norm():
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.SiLU(), nn.ConvTranspose2d(16, 8, 2, stride=2),
                         nn.GroupNorm(2, 8), nn.SiLU(), nn.Conv2d(8, 4, 1))


def conv1d():
    return nn.Sequential(nn.Conv1d(8, 16, 5, padding=2), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(16, 16, 3), nn.Softplus(),
                         nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(16, 4))


def conv3d():
    return nn.Sequential(nn.Conv3d(1, 6, 3, padding=1), nn.BatchNorm3d(6), nn.ReLU(), nn.MaxPool3d(2), nn.Conv3d(6, 8, 3), nn.ReLU(),
                         nn.Flatten(), nn.Linear(8 * 2 * 4 * 4, 5))


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.inner = self.block(3, 8), self.block(8, 16)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.out = nn.Sequential(self.block(16, 8), nn.Conv2d(8, 4, 1))

    @staticmethod
    def block(of, to):
        return nn.Sequential(nn.Conv2d(of, to, 3, padding=1), nn.BatchNorm2d(to), nn.ReLU())

    def forward(self, image):
        outer = self.down(image)
        inner = self.inner(nn.functional.max_pool2d(outer, 2))
        return self.out(torch.cat([outer, self.up(inner)], dim=1))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.embed = nn.Embedding(50, 12)
        self.cell = getattr(nn, kind)(12, 16, batch_first=True)
        self.head = nn.Linear(16, 6)

    def forward(self, ids):
        return self.head(self.cell(self.embed(ids))[0][:, -1])


class Encoder(nn.Module):
    """Pads with 0, whose row of the table gets no gradient."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(60, 24, padding_idx=0)
        layer = nn.TransformerEncoderLayer(24, 3, 48, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(24, 11)

    def forward(self, ids):
        return self.head(self.layers(self.embed(ids)))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.attend = nn.LayerNorm(16), nn.MultiheadAttention(16, 4, batch_first=True)

    def forward(self, x):
        normal = self.norm(x)
        return x + self.attend(normal, normal, normal, need_weights=False)[0]


class WideAndDeep(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(20, 4) for _ in range(3))
        self.deep = nn.Sequential(nn.Linear(17, 16), nn.ReLU(), nn.Linear(16, 3))
        self.wide = nn.Linear(5, 3)

    def forward(self, ids, x):
        embedded = [table(ids[:, i]) for i, table in enumerate(self.tables)]
        return self.deep(torch.cat([*embedded, x], dim=1)) + self.wide(x)
