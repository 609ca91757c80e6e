#!/usr/bin/env python3
"""Writes the models beside this file: what PyTorch's exporters make of small nets,
with what their default options lose and what users get wrong. Needs torch and
onnxscript; metadata (stack traces of the machine that exports) is taken out, but
in the `..._marked` ones stays what tells parameters from buffers and constants.
"""

import copy
import logging
import os
import warnings

import numpy as np
import onnx
import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
MARKS = ("pkg.torch.export.", "pkg.onnxscript.")


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


class Remainder(nn.Module):
    """What is left of a division has the slope of what was divided."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(torch.fmod(self.body(x), 0.5))


class Lacking(nn.Module):
    """Values without their doubles, and the places of what is not zero in computed values, which we do not have."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 4)

    def forward(self, x):
        x = self.body(x)
        return torch.unique(x), torch.nonzero(x)


class DenseNorm(nn.Module):
    """Fresh weights and running statistics are equal, ones and zeros."""

    def __init__(self):
        super().__init__()
        self.body, self.norm, self.head = nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)

    def forward(self, x):
        return self.head(torch.relu(self.norm(self.body(x))))


class TwoNorms(nn.Module):
    """Normalizes before the convolution, so that nothing is folded."""

    def __init__(self, affine=True):
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(3, affine=affine), nn.BatchNorm2d(3, affine=affine)
        self.conv = nn.Conv2d(3, 3, 3, padding=1)

    def forward(self, image):
        return torch.relu(self.norm2(image + self.conv(torch.relu(self.norm1(image)))))


class Scaled(nn.Module):
    """Root mean square normalization, layer scale, PReLU and biases that all start equal."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.Parameter(torch.ones(6)), nn.Parameter(torch.ones(6))
        self.gain1, self.gain2 = nn.Parameter(torch.full((6,), 0.1)), nn.Parameter(torch.full((6,), 0.1))
        self.body1, self.body2 = nn.Linear(6, 6), nn.Linear(6, 6)
        self.slope1, self.slope2 = nn.PReLU(6), nn.PReLU(6)
        nn.init.zeros_(self.body1.bias)
        nn.init.zeros_(self.body2.bias)

    def forward(self, x):
        for norm, gain, body, slope in (
            (self.norm1, self.gain1, self.body1, self.slope1),
            (self.norm2, self.gain2, self.body2, self.slope2),
        ):
            normal = norm * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))
            x = x + gain * slope(body(normal))
        return x


class Attending(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.MultiheadAttention(4, 2, batch_first=True)
        self.second = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x):
        x = x + self.first(x, x, x, need_weights=False)[0]
        return x + self.second(x, x, x, need_weights=False)[0]


class Recurrent(nn.Module):
    """Starts from zeros, which are no parameter."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.LSTM(3, 2, batch_first=True, bidirectional=True), nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.body(x)[0][:, -1])


class Reparametrized(nn.Module):
    """Weights that are computed of parameters: weight norm and standardized weights."""

    def __init__(self):
        super().__init__()
        self.body = nn.utils.parametrizations.weight_norm(nn.Linear(6, 4))
        self.kernel = nn.Parameter(torch.randn(3, 1, 3))

    def forward(self, x):
        kernel = (self.kernel - self.kernel.mean()) / (self.kernel.std() + 1e-5)
        return nn.functional.conv1d(self.body(x).unsqueeze(1), kernel)


class Table(nn.Module):
    """A parameter that is called like the transpose of torch.export."""

    def __init__(self):
        super().__init__()
        self.t, self.body = nn.Parameter(torch.randn(7, 2)), nn.Linear(6, 4)
        self.register_buffer("index", torch.randint(0, 7, (4,)))

    def forward(self, x):
        return self.body(x).reshape(-1, 4, 1) + self.t[self.index]


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head, self.drop = nn.Linear(6, 4), nn.Linear(4, 2), nn.Dropout(0.5)

    def forward(self, x):
        return self.head(self.drop(torch.relu(self.body(self.drop(x)))))


class GroupNorms(nn.Module):
    """Fresh, so that scales and biases of groups are ones and zeros."""

    def __init__(self):
        super().__init__()
        self.groups, self.rows = nn.GroupNorm(2, 4), nn.LayerNorm(3, elementwise_affine=False)

    def forward(self, image):
        return self.rows(self.groups(image))


class Tempered(nn.Module):
    """Scalars of the module itself and of one inside, beside numbers of the code."""

    def __init__(self):
        super().__init__()
        self.logit_scale = nn.Parameter(torch.tensor(1.5))
        self.body, self.act = nn.Linear(6, 4), nn.PReLU()
        self.body.gain = nn.Parameter(torch.tensor(2.0))

    def forward(self, x):
        x = self.act(self.body(x) * self.body.gain) * 0.5 + torch.tensor(0.25)
        return torch.clamp(x, -5, 5) * self.logit_scale.exp()


class Clones(nn.Module):
    """Two copies of a layer that start equal, though not all elements of each."""

    def __init__(self):
        super().__init__()
        self.a, self.head = nn.Linear(6, 6), nn.Linear(6, 3)
        self.b = copy.deepcopy(self.a)

    def forward(self, x):
        return self.head(torch.tanh(self.b(torch.tanh(self.a(x)))))


class Shared(nn.Module):
    """One layer, applied twice."""

    def __init__(self):
        super().__init__()
        self.a, self.head = nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x):
        return self.head(torch.tanh(self.a(torch.tanh(self.a(x)))))


class TiedHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(12, 8), nn.Linear(8, 12, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids):
        return self.head(self.embedding(ids))


class Positions(nn.Module):
    """Positions in a buffer of random numbers, which looks like a parameter."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 4), nn.Linear(4, 3)
        self.register_buffer("pe", torch.randn(4))

    def forward(self, x):
        return self.head(torch.tanh(self.body(x) + self.pe))


class Padded(nn.Module):
    """The mask becomes numbers by way of zeros; a bias of zeros is left out."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.MultiheadAttention(4, 2, batch_first=True), nn.Linear(4, 3)

    def forward(self, x, pad):
        return self.head(self.body(x, x, x, key_padding_mask=pad)[0].mean(1))


class Masked(nn.Module):
    """Keeps the columns that a buffer says."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 4)
        self.register_buffer("keep", torch.tensor([True, False, True, True]))

    def forward(self, x):
        return self.body(x)[:, self.keep]


class Clamped(nn.Module):
    """A clamp's gradient is 0 at its limits, a maximum's is shared there. The body gives zeros for zeros."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 4)
        nn.init.zeros_(self.body.bias)

    def forward(self, x):
        y = self.body(x)
        return y.clamp(min=0), y.clamp(max=0), y.clamp(0, 1), torch.maximum(y, torch.tensor(0.0))


class Noisy(nn.Module):
    """Stochastic depth as torchvision has it, noise of both kinds, coins of computed chances."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x):
        paths = torch.empty(x.shape[0], 1).bernoulli_(0.75).div_(0.75)
        x = x + paths * torch.relu(self.body(x))
        x = x + 0.1 * torch.randn_like(x) * torch.rand_like(x)
        return self.head(x * torch.bernoulli(torch.sigmoid(x.detach())))


class Coins(nn.Module):
    """Drops whole channels (which TorchScript has no export of), and rows as torchvision's stochastic depth."""

    def __init__(self):
        super().__init__()
        self.body, self.head, self.drop = nn.Conv2d(3, 4, 1), nn.Linear(4, 4), nn.Dropout2d(0.25)

    def forward(self, image):
        x = self.drop(torch.relu(self.body(image))).mean((2, 3))
        if self.training:
            return x + self.head(x) * torch.empty(x.shape[0], 1).bernoulli_(0.8).div_(0.8)
        return x + self.head(x)


class Alpha(nn.Module):
    """Drops elements and, before, whole channels, to where SELU's limit is."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Conv2d(3, 4, 1), nn.Linear(4, 2)
        self.channels, self.drop = nn.FeatureAlphaDropout(0.25), nn.AlphaDropout(0.1)

    def forward(self, image):
        x = self.channels(torch.selu(self.body(image))).mean((2, 3))
        return self.head(self.drop(x))


class Spectrum(nn.Module):
    """Frames of a signal under a window that is trained."""

    def __init__(self):
        super().__init__()
        self.window = nn.Parameter(torch.tensor([0.5, 1.0, 1.0, 0.5]))

    def forward(self, signal):
        return torch.stft(signal, 4, 2, window=self.window, center=False, return_complex=False)


def strip(path, marks):
    model = onnx.load(path)
    for part in [model, model.graph, *model.graph.node, *model.graph.initializer, *model.graph.input, *model.graph.output,
                 *model.graph.value_info]:
        kept = [(entry.key, entry.value) for entry in part.metadata_props if entry.key.startswith(marks)]
        del part.metadata_props[:]
        for key, value in kept:
            part.metadata_props.add(key=key, value=value)
        part.doc_string = ""
    if not marks:
        del model.graph.value_info[:]
    onnx.save(model, path)


def export(name, net, *inputs, **options):
    path = os.path.join(HERE, name + ".onnx")
    torch.onnx.export(net.train(), inputs, path, external_data=False, **options)
    strip(path, MARKS if name.endswith("_marked") else ())


def export_marked(rows, ids, image):
    """By default options, with the file's own list of parameters."""
    torch.manual_seed(3)
    export("norm_marked", ConvNorm(), image, dynamo=True)
    export("tied_marked", Tied(), ids, dynamo=True)
    export("positions_marked", Positions(), rows, dynamo=True)
    export("shared_marked", Shared(), rows, dynamo=True)
    clones = Clones()
    export("clones_marked", clones, rows, dynamo=True)
    export("clones_default", clones, rows, dynamo=True)
    export("clones_script", clones.eval(), rows, dynamo=False, training=torch.onnx.TrainingMode.EVAL)
    for bits in (torch.float16, torch.bfloat16, torch.float64):
        export(f"tied_{str(bits).removeprefix('torch.')}_default", TiedHead().to(bits), ids, dynamo=True)
    pad = torch.tensor([[False, False, False], [False, False, True]])
    export("padded_marked", Padded(), torch.randn(2, 3, 4), pad, dynamo=True)


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
    export("remainder", Remainder(), rows, dynamo=True, optimize=False)
    export("lacking", Lacking(), rows, dynamo=True, optimize=False)
    torch.manual_seed(1)
    series, plane = torch.randn(2, 3, 4), torch.randn(2, 3, 4, 4)
    script = {"dynamo": False, "training": torch.onnx.TrainingMode.EVAL}
    export("fresh_norm_script", DenseNorm().eval(), rows, **script)
    export("fresh_norms_script", TwoNorms().eval(), plane, **script)
    export("fresh_norms_default", TwoNorms(), plane, dynamo=True)
    export("plain_norms_default", TwoNorms(affine=False), plane, dynamo=True)
    scaled = Scaled()
    export("scaled_default", scaled, rows, dynamo=True)
    export("scaled_script", scaled.eval(), rows, **script)
    export("attending_default", Attending(), series, dynamo=True)
    export("recurrent_default", Recurrent(), torch.randn(2, 3, 3), dynamo=True)
    export("reparametrized_default", Reparametrized(), rows, dynamo=True)
    export("table_whole", Table(), rows, dynamo=True, optimize=False)
    training = {"dynamo": False, "training": torch.onnx.TrainingMode.TRAINING}
    export("dropping_old", Dropping(), rows, opset_version=11, **training)
    export("group_norms_default", GroupNorms(), torch.randn(2, 4, 3, 3), dynamo=True)
    torch.manual_seed(2)
    tempered = Tempered()
    export("tempered_whole", tempered, rows, dynamo=True, optimize=False)
    export("tempered_default", tempered, rows, dynamo=True)
    export("tempered_script", tempered.eval(), rows, **script)
    export_marked(rows, ids, image)
    torch.manual_seed(3)
    for way, options in {"whole": {"dynamo": True, "optimize": False}, "script": training}.items():
        for name, net in {"masked": Masked, "clamped": Clamped, "noisy": Noisy}.items():
            export(f"{name}_{way}", net(), rows, **options)
    torch.manual_seed(4)
    export("coins_whole", Coins(), plane, dynamo=True, optimize=False)
    export("alpha_whole", Alpha(), plane, dynamo=True, optimize=False)
    export("alpha_default", Alpha(), plane, dynamo=True)
    export("spectrum_script", Spectrum().eval(), torch.randn(2, 6), opset_version=17, **script)


class Quantized(nn.Module):
    """Rounds inputs to 8 bits, weights to 8 by channel and what is in between to 7, as FakeQuantize does; some lie outside of each range."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 3), nn.Linear(3, 2)
        self.first.weight.data *= 1.3
        self.register_buffer("scale", torch.tensor([0.05]))
        self.register_buffer("zero", torch.tensor([60], dtype=torch.int32))
        self.register_buffer("scales", torch.tensor([0.004, 0.002, 0.003]))
        self.register_buffer("zeros", torch.zeros(3, dtype=torch.int32))

    def forward(self, x):
        x = torch.fake_quantize_per_tensor_affine(x, 0.01, 3, 0, 255)
        weight = torch.fake_quantize_per_channel_affine(self.first.weight, self.scales, self.zeros, 0, -128, 127)
        hidden = nn.functional.linear(x, weight, self.first.bias)
        return self.last(torch.fake_quantize_per_tensor_affine(hidden, self.scale, self.zero, 0, 127))


def quantized():
    """`quantized_script.onnx`, its data, and how PyTorch trains it: for tests/end_to_end/straight_through.test."""
    torch.manual_seed(0)
    model = Quantized()
    x, label = torch.rand(8, 4) * 3 - 0.3, torch.randn(8, 2)
    export("quantized_script", model, x, dynamo=False, do_constant_folding=False, opset_version=17,
           training=torch.onnx.TrainingMode.TRAINING, input_names=["x"])
    np.savez(os.path.join(HERE, "quantized.npz"), x=x.numpy(), label=label.numpy())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(1, 7):
        loss = nn.functional.mse_loss(model(x), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"quantized_script: step {step}, loss {loss.item():.6f}, "
              f"{(model.first.weight.grad == 0).sum().item()} of 12 weights outside")


if __name__ == "__main__":
    main()
    quantized()
