#!/usr/bin/env python3
"""Writes the models beside this file: what PyTorch's exporters make of small nets,
with what their default options lose and what users get wrong. Needs torch and
onnxscript; metadata (stack traces of the machine that exports) is taken out.
"""

import logging
import os
import warnings

import onnx
import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))


class ConvNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4)
        self.conv2, self.bn2 = nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4)
        self.fc = nn.Linear(4, 5)

    def forward(self, image):
        x = torch.relu(self.bn1(self.conv1(image)))
        return self.fc(torch.relu(self.bn2(self.conv2(x))).mean((2, 3)))


class Tied(nn.Module):
    """Embedding and head share a matrix, positions are a parameter and a table."""

    def __init__(self):
        super().__init__()
        self.embedding, self.positions = nn.Embedding(12, 8), nn.Embedding(6, 8)
        self.bias = nn.Parameter(torch.randn(1, 6, 8))
        self.norm1, self.norm2 = nn.LayerNorm(8), nn.LayerNorm(8)
        self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 12, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids):
        x = self.embedding(ids) + self.positions(torch.arange(ids.shape[1])) + self.bias[:, : ids.shape[1]]
        return self.head(self.norm2(torch.relu(self.body(self.norm1(x)))))


class TwoHeads(nn.Module):
    """The second output does not go into the loss."""

    def __init__(self):
        super().__init__()
        self.body, self.head, self.aux = nn.Linear(6, 4), nn.Linear(4, 3), nn.Linear(4, 2)

    def forward(self, x):
        x = torch.tanh(self.body(x))
        return self.head(x), self.aux(x)


class FixedBatch(nn.Module):
    """Reshapes to a batch of 4, whatever comes."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 4)

    def forward(self, x):
        return self.body(x).reshape(4, 4)


class Rounded(nn.Module):
    """Rounds on the way, which has no gradient worth the name."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(torch.fmod(self.body(x), 0.5))


class Lacking(nn.Module):
    """Determinants and the places of what is not zero, which are ops that we do not have."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 4)

    def forward(self, x):
        x = self.body(x)
        return torch.linalg.det(x.reshape(-1, 2, 2)), torch.nonzero(x)


def strip(path):
    model = onnx.load(path)
    for part in [model, model.graph, *model.graph.node, *model.graph.initializer, *model.graph.input, *model.graph.output,
                 *model.graph.value_info]:
        del part.metadata_props[:]
        part.doc_string = ""
    del model.graph.value_info[:]
    onnx.save(model, path)


def export(name, net, *inputs, **options):
    path = os.path.join(HERE, name + ".onnx")
    torch.onnx.export(net.train(), inputs, path, external_data=False, **options)
    strip(path)


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.manual_seed(0)
    image, ids, rows = torch.randn(2, 3, 8, 8), torch.randint(0, 12, (2, 6)), torch.randn(4, 6)
    export("norm_default", ConvNorm(), image, dynamo=True)
    export("norm_whole", ConvNorm(), image, dynamo=True, optimize=False)
    export("norm_script", ConvNorm().eval(), image, dynamo=False, training=torch.onnx.TrainingMode.EVAL)
    export("tied_default", Tied(), ids, dynamo=True)
    export("tied_whole", Tied(), ids, dynamo=True, optimize=False)
    export("two_heads", TwoHeads(), rows, dynamo=True, optimize=False, output_names=["logits", "aux"])
    export("fixed_batch", FixedBatch(), rows, dynamo=False, input_names=["x"], dynamic_axes={"x": {0: "batch"}})
    export("rounded", Rounded(), rows, dynamo=True, optimize=False)
    export("lacking", Lacking(), rows, dynamo=True, optimize=False)


if __name__ == "__main__":
    main()
