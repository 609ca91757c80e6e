"""The full-size networks of the bench in PyTorch, as torchvision and transformers build them; make.py exports one."""

import operator

import networks
import torch
from torch import nn
from torch.nn import functional


def convolution(inputs, outputs, size, stride=1):
    """Convolution and batch norm."""
    return nn.Sequential(nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), nn.BatchNorm2d(outputs))


class Residual(nn.Module):
    def __init__(self, inputs, width, stride, bottleneck):
        super().__init__()
        outputs = width * 4 if bottleneck else width
        if bottleneck:
            self.body = nn.Sequential(convolution(inputs, width, 1), nn.ReLU(True), convolution(width, width, 3, stride),
                                      nn.ReLU(True), convolution(width, outputs, 1))
        else:
            self.body = nn.Sequential(convolution(inputs, width, 3, stride), nn.ReLU(True), convolution(width, width, 3))
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else convolution(inputs, outputs, 1, stride)

    def forward(self, x):
        return torch.relu_(self.body(x) + self.shortcut(x))


def resnet(depths, bottleneck, small, classes):
    """`small`: the stem for images of 32x32."""
    stem = [convolution(3, 64, 3), nn.ReLU(True)]
    if not small:
        stem = [convolution(3, 64, 7, 2), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)]
    blocks, inputs = [], 64
    for stage, depth in enumerate(depths):
        for i in range(depth):
            width = 64 << stage
            blocks.append(Residual(inputs, width, 2 if stage and not i else 1, bottleneck))
            inputs = width * 4 if bottleneck else width
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


class Attention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, mask=None):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(x).split(width, 2))
        y = functional.scaled_dot_product_attention(q, k, v, mask, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


def feed_forward(width, approximate):
    return nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate), nn.Linear(4 * width, width))


class GPTLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.body = Attention(width, heads, causal=True), feed_forward(width, "tanh")

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.body(self.norm2(x))


class GPT(nn.Module):
    """GPT-2: its head is its embedding."""

    def __init__(self, vocabulary, positions, width, layers, heads):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.layers = nn.Sequential(*(GPTLayer(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions.weight[:ids.shape[1]]
        return functional.linear(self.norm(self.layers(x)), self.tokens.weight)


class BertLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention, self.body = Attention(width, heads, causal=False), feed_forward(width, "none")
        self.norm1, self.norm2 = nn.LayerNorm(width, 1e-12), nn.LayerNorm(width, 1e-12)

    def forward(self, x, mask):
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.body(x))


class Bert(nn.Module):
    """For masked language modelling: its head is its embedding and a bias."""

    def __init__(self, vocabulary, positions, width, layers, heads):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.types, self.norm = nn.Embedding(2, width), nn.LayerNorm(width, 1e-12)
        self.layers = nn.ModuleList(BertLayer(width, heads) for _ in range(layers))
        self.transform = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width, 1e-12))
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, ids, mask, types):
        x = self.norm(self.tokens(ids) + self.types(types) + self.positions.weight[:ids.shape[1]])
        mask = mask[:, None, None, :].bool().expand(-1, 1, ids.shape[1], -1)
        for layer in self.layers:
            x = layer(x, mask)
        return functional.linear(self.transform(x), self.tokens.weight, self.bias)


class ChannelNorm(nn.LayerNorm):
    """Over the channels of images."""

    def __init__(self, channels):
        super().__init__(channels, 1e-6)

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Scaled(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(channels, 1, 1))

    def forward(self, x):
        return x * self.scale


class LastOutput(nn.Module):
    """Of recurrent layers, the last step of the last layer."""

    def __init__(self, inputs, width, layers):
        super().__init__()
        self.layers = nn.LSTM(inputs, width, layers)

    def forward(self, x):
        _, (last, _) = self.layers(x)
        return last[-1]


class TorchNet(networks.Layers):
    """The builder of a module (networks.py): its forward is plain code, a call of a layer after the other."""

    EACH = {"Add": operator.add, "Mul": operator.mul, "Sigmoid": torch.sigmoid}

    def __init__(self, network):
        source = network.onnx()
        self.weights = (torch.frombuffer(bytearray(source.numbers(*each)), dtype=torch.float32).reshape(each[0])
                        for each in source.weights.values())
        self.root, self.graph = nn.Module(), torch.fx.Graph()
        x = self.graph.placeholder("x")
        self.size = {x: tuple(network.shape[1:3]) if network.is_image else (network.shape[2], 1)}
        self.graph.output(network.define(self, x))
        if next(self.weights, None) is not None:
            raise ValueError("the builders of ONNX and of PyTorch make different weights")

    def module(self):
        return torch.fx.GraphModule(self.root, self.graph)

    def channels(self, x):
        return self.size[x][0]

    def height(self, x):
        return self.size[x][1]

    def call(self, module, x, channels=None, height=None):
        """Its weights are the next ones."""
        for value in self.values(module):
            value.data = next(self.weights).view_as(value)
        name = f"layer{len(self.graph.nodes)}"
        self.root.add_module(name, module)
        made = self.graph.call_module(name, (x,))
        self.size[made] = (channels or self.channels(x), height or self.height(x))
        return made

    @staticmethod
    def values(module):
        return [*module.parameters(), *(each for each in module.buffers() if each.dim())]

    def convolution(self, x, channels, kernel=1, stride=1, groups=1, bias=False, pad=None):
        pad = kernel // 2 if pad is None else pad
        layer = nn.Conv2d(self.channels(x), channels, kernel, stride, pad, groups=groups, bias=bias)
        return self.call(layer, x, channels, (self.height(x) + 2 * pad - kernel) // stride + 1)

    def up(self, x, channels):
        return self.call(nn.ConvTranspose2d(self.channels(x), channels, 2, 2), x, channels, 2 * self.height(x))

    def half(self, x):
        return self.call(nn.MaxPool2d(2), x, height=self.height(x) // 2)

    def batch_norm(self, x):
        return self.call(nn.BatchNorm2d(self.channels(x)), x)

    def layer_norm(self, x):
        return self.call(ChannelNorm(self.channels(x)), x)

    def relu(self, x):
        return self.call(nn.ReLU(True), x)

    def relu6(self, x):
        return self.call(nn.ReLU6(True), x)

    def swish(self, x):
        return self.call(nn.SiLU(True), x)

    def gelu(self, x):
        return self.call(nn.GELU(), x)

    def scaled(self, x, value):
        return self.call(Scaled(self.channels(x)), x)

    def each(self, op, x, *others):
        made = self.graph.call_function(self.EACH[op], (x, *others))
        self.size[made] = self.size[x]
        return made

    def concat(self, parts):
        made = self.graph.call_function(torch.cat, (parts, 1))
        self.size[made] = (sum(map(self.channels, parts)), self.height(parts[0]))
        return made

    def mean(self, x):
        return self.call(nn.AdaptiveAvgPool2d(1), x, height=1)

    def flat(self, x):
        return self.call(nn.Flatten(), x)

    def dense(self, x, outputs):
        return self.call(nn.Linear(self.channels(x), outputs), x, outputs)

    def lstm(self, x, width, layers):
        """ONNX's gates are input, output, forget, cell, and its biases one tensor; PyTorch's input, forget, cell, output."""
        module = LastOutput(self.channels(x), width, layers)
        for layer in range(layers):
            gates, both = [next(self.weights)[0] for _ in range(2)], next(self.weights)[0].chunk(2)
            for name, value in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), (*gates, *both)):
                i, o, f, c = value.chunk(4)
                getattr(module.layers, f"{name}_l{layer}").data = torch.cat((i, f, c, o))
        self.root.add_module("lstm", module)
        made = self.graph.call_module("lstm", (x,))
        self.size[made] = (width, 1)
        return made


def shared(name):
    """A network of networks.py, its batch and its loss."""
    network = networks.NETWORKS[name]
    module = TorchNet(network).module()
    x, labels = (torch.frombuffer(bytearray(raw), dtype=kind).reshape(shape) for raw, kind, shape in zip(
        network.batch(), (torch.float32, torch.int64), (network.shape, network.label_shape)))
    if network.is_image:
        module, x = module.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
    return module, (x,), labels, functional.cross_entropy


def images(batch, size, classes):
    inputs = torch.randn(batch, 3, size, size).contiguous(memory_format=torch.channels_last)
    return (inputs,), torch.randint(classes, (batch,))


def tokens(batch, length, vocabulary):
    return (torch.randint(vocabulary, (batch, length)),), torch.randint(vocabulary, (batch, length))


def resnet18(batch=32):
    return resnet([2, 2, 2, 2], False, True, 10).to(memory_format=torch.channels_last), *images(batch, 32, 10)


def resnet50(batch=8):
    return resnet([3, 4, 6, 3], True, False, 1000).to(memory_format=torch.channels_last), *images(batch, 224, 1000)


def gpt_d256(batch=4, seq=256):
    return GPT(4096, 256, 256, 6, 8), *tokens(batch, seq, 4096)


def gpt2(batch=4, seq=64):
    return GPT(50257, 1024, 768, 12, 12), *tokens(batch, seq, 50257)


def bert_base(batch=8, seq=128):
    (ids,), labels = tokens(batch, seq, 30522)
    return Bert(30522, 512, 768, 12, 12), (ids, torch.randint(2, (batch, seq)), torch.randint(2, (batch, seq))), labels


def cross_entropy(logits, labels):
    return functional.cross_entropy(logits.flatten(0, -2), labels.flatten())


def optimizer_of(settings, parameters):
    """The recipe's, fused."""
    settings = dict(settings)
    kind = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}[settings.pop("type")]
    names = {"learning_rate": "lr", "epsilon": "eps"}
    return kind(parameters, fused=True, **{names.get(name, name): value for name, value in settings.items()})


MAKERS = {"resnet18-cifar": resnet18, "resnet50": resnet50, "gpt-d256": gpt_d256, "gpt2-124m": gpt2, "bert-base": bert_base}
