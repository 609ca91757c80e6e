"""Makes the bench's models. Run in a virtual environment with torch and onnx."""

import os
import sys

import onnx
import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import peer_torch_models
import workloads


def export(name, model, example, output):
    torch.onnx.export(model, (example,), os.path.join(HERE, name), dynamo=False, opset_version=20,
                      training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
                      input_names=["input"], output_names=[output])


def export_weightless(name, model, example, output):
    """The graph alone: its weights are external data in a file that is not kept."""
    export(name, model, example, output)
    path = os.path.join(HERE, name)
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="weights.bin", size_threshold=1024)
    os.remove(os.path.join(HERE, "weights.bin"))


class Block(nn.Module):
    """Two convolutions beside a way around them, as in ResNet-18."""

    def __init__(self, channels, out, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.bn2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.around = nn.Identity() if stride == 1 and channels == out else nn.Sequential(
            nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + self.around(x))


def resnet_28(width):
    """For images of 28 x 28: ResNet-18's blocks in three stages of two, the first of `width` channels."""
    twice, most = 2 * width, 4 * width
    return nn.Sequential(nn.Conv2d(1, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                         Block(width, width, 1), Block(width, width, 1), Block(width, twice, 2), Block(twice, twice, 1),
                         Block(twice, most, 2), Block(most, most, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(most, 10))


def used_in_16_bits(i, kind):
    """Makes the optimizer write a copy of a weight: a sum of one element of each reads them."""
    narrow, one = kind.replace("f32", "bf16"), "tensor<1x1xf32>"
    yield f"    %w{i} = gradus.read @w{i} : {kind}"
    yield f"    %n{i} = arith.truncf %w{i} : {kind} to {narrow}"
    yield f"    %e{i} = gradus.slice %n{i} starts [0, 0] steps [1, 1] : {narrow} -> tensor<1x1xbf16>"
    yield f"    %f{i} = arith.extf %e{i} : tensor<1x1xbf16> to {one}"
    yield f"    %s{i} = arith.addf {f'%s{i - 1}' if i else '%f0'}, %f{i} : {one}"


def adamw(copies=False):
    """A program whose gradients are states, so that a step is the optimizer alone."""
    states, updates = [], []
    for i, (rows, columns) in enumerate(workloads.ADAMW_SHAPES):
        kind = f"tensor<{rows}x{columns}xf32>"
        updates.extend(used_in_16_bits(i, kind) if copies else [])
        for name, role, value in (("w", "parameter", 0.02), ("g", "buffer", 0.01)):
            states.append(f"  gradus.state @{name}{i} : {kind} "
                          f"{{role = #gradus.role<{role}>, init = #gradus.init<constant, {value} : f64>}}")
        updates.append(f"    %g{i} = gradus.read @g{i} : {kind}")
        updates.append(f"    gradus.update @w{i}, %g{i} : {kind}")
    recipe = ('recipe = {optimizer = {type = "adamw", learning_rate = 1.0e-3, betas = [9.0e-1, 9.99e-1], '
              'epsilon = 1.0e-8, weight_decay = 1.0e-2}}')
    last = f"%s{len(workloads.ADAMW_SHAPES) - 1} : tensor<1x1xf32>"
    return "\n".join(["// AdamW alone on 30 M parameters; made by make.py.",
                      f"gradus.program @adamw_30m attributes {{{recipe}}} {{", *states,
                      f"  gradus.graph @train() -> ({'sum: tensor<1x1xf32>' if copies else ''}) {{", *updates,
                      f"    gradus.return {last if copies else ''}".rstrip(), "  }", "}", ""])


def main():
    torch.manual_seed(0)
    export("mlp.onnx", nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1)),
           torch.zeros(16, 32), "output")
    export("lenet5.onnx", nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)),
        torch.zeros(32, 1, 28, 28), "logits")
    for name, width in (("resnet_28.onnx", 8), ("resnet_28_wide.onnx", 32)):
        export_weightless(name, resnet_28(width), torch.zeros(32, 1, 28, 28), "logits")
    model, (ids,), _ = peer_torch_models.gpt_d256()
    export_weightless("gpt_d256.onnx", model, ids, "logits")
    for name, copies in (("adamw_30m.mlir", False), ("adamw_30m_copies.mlir", True)):
        with open(os.path.join(HERE, name), "w") as file:
            file.write(adamw(copies))


if __name__ == "__main__":
    main()
