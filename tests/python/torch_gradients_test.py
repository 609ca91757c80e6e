"""Gradients of single layers in f32 are as near to f64 as PyTorch's.

In a whole module this is not to be seen: one element of a relu on the other side of its kink moves all gradients behind it by more than all
roundings do, and which element it is, is chance.
"""

import copy
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from needs_torch import torch, torch_is_missing  # noqa: E402
import package  # noqa: E402, F401  (puts the package on the path)

TIMES = 3  # how much farther than PyTorch in f32 a gradient may be

if torch:

    class Alone(torch.nn.Module):
        """A layer whose input is a parameter, so that it has a gradient too; the input of this module is the gradient of its result."""

        def __init__(self, layer, x):
            super().__init__()
            self.layer, self.x = layer, torch.nn.Parameter(x)

        def forward(self, gradient):
            return self.layer(self.x) * gradient

    class OnePass(torch.nn.BatchNorm2d):
        """Takes the variance as E[x^2] - E[x]^2 in the type of x, which loses digits where the mean is large."""

        def forward(self, x):
            mean, squares = (each.mean((0, 2, 3), keepdim=True) for each in (x, x * x))
            normal = (x - mean) / (squares - mean * mean + self.eps).sqrt()
            return normal * self.weight[:, None, None] + self.bias[:, None, None]


def in_eager(module, gradient, dtype):
    module = copy.deepcopy(module).to(dtype)
    module(gradient.to(dtype)).sum().backward()
    return {name: each.grad.double() for name, each in module.named_parameters()}


def in_gradus(module, gradient):
    import gradus

    with gradus.compile(module, example=(gradient,), loss=lambda output, label: output.sum() + 0 * label.sum(), labels=torch.zeros(1),
                        optimizer=torch.optim.SGD(module.parameters(), lr=0.0), gradient_outputs=True, threads=1, cache=False) as step:
        outputs = step(gradient, torch.zeros(1))
        return {name: torch.tensor(outputs[f"gradient.{name}"], dtype=torch.float64) for name, _ in module.named_parameters()}


@unittest.skipIf(torch is None, torch_is_missing())
class Gradients(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)

    def errors(self, module, gradient, ours):
        """For each gradient how far `ours` and PyTorch's in f32 are from f64, relative to its norm."""
        exact, theirs = (in_eager(module, gradient, dtype) for dtype in (torch.float64, torch.float32))

        def far(run, name):
            return ((run[name].reshape(exact[name].shape) - exact[name]).norm() / exact[name].norm()).item()

        return {name: (far(ours, name), far(theirs, name)) for name in exact}

    def is_near(self, layer, x):
        module = Alone(layer, x)
        gradient = torch.randn(layer(x).shape) + 0.1
        for name, (mine, theirs) in self.errors(module, gradient, in_gradus(module, gradient)).items():
            self.assertLessEqual(mine, TIMES * theirs, name)

    def test_convolution(self):
        self.is_near(torch.nn.Conv2d(8, 16, 3, padding=1), torch.randn(4, 8, 32, 32))

    def test_depthwise_convolution(self):
        self.is_near(torch.nn.Conv2d(32, 32, 3, stride=2, padding=1, groups=32), torch.randn(4, 32, 32, 32))

    def test_batch_norm(self):
        self.is_near(torch.nn.BatchNorm2d(16), torch.randn(4, 16, 32, 32))

    def test_batch_norm_of_a_large_mean(self):
        self.is_near(torch.nn.BatchNorm2d(16), torch.randn(4, 16, 32, 32) + 30)

    def test_batch_norm_of_few_elements(self):
        self.is_near(torch.nn.BatchNorm2d(256), torch.randn(4, 256, 2, 2))

    def test_a_variance_in_one_pass_of_f32_is_found(self):
        x, gradient = torch.randn(4, 16, 32, 32) + 30, torch.randn(4, 16, 32, 32) + 0.1
        module = Alone(torch.nn.BatchNorm2d(16), x)
        poor = in_eager(Alone(OnePass(16), x), gradient, torch.float32)
        mine, theirs = self.errors(module, gradient, poor)["layer.weight"]
        self.assertGreater(mine, TIMES * theirs)


if __name__ == "__main__":
    unittest.main()
