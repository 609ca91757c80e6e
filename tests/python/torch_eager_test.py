"""What fails in a module or a loss itself is told in the words of its own code, as an error of Gradus."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from needs_torch import torch, torch_is_missing  # noqa: E402

if torch:
    from gradus import NotExpressible  # noqa: E402
    from gradus.torch_.export import exported  # noqa: E402


@unittest.skipIf(torch is None, torch_is_missing())
class Refused(unittest.TestCase):
    def says(self, words, *arguments, **options):
        with self.assertRaises(NotExpressible) as found:
            exported(*arguments, **options)
        self.assertRegex(str(found.exception), words)
        return found.exception

    def setUp(self):
        self.module, self.x, self.y = torch.nn.Linear(6, 3), torch.randn(4, 6), torch.tensor([0, 2, 1, 1])

    def test_a_loss_that_gives_no_tensor(self):
        for loss, kind in ((lambda out, y: out.sum().item(), "float"), (lambda out, y: out.detach().numpy().mean(), "float32"),
                           (lambda out, y: None, "NoneType")):
            self.says(f"the loss is an object of {kind}, and no tensor of torch: it is computed outside", self.module, self.x, loss=loss, labels=self.y)

    def test_a_loss_that_raises_is_told_with_its_line(self):
        error = self.says(r"the loss fails in PyTorch itself, on the example \(input float32\[4, 6\], label int64\[4\]\), "
                          r"torch_eager_test.py line \d+: RuntimeError: Can't call numpy", self.module, self.x,
                          loss=lambda out, y: torch.tensor(out.numpy().mean()), labels=self.y)
        self.assertIsNone(error.__cause__)
        self.assertTrue(error.__suppress_context__)
        self.says("the loss fails .*TypeError: .* positional argument", self.module, self.x, loss=lambda out: out.mean(), labels=self.y)

    def test_an_example_that_the_module_does_not_take(self):
        self.says(r"forward\(\) of Linear fails in PyTorch itself, on the example \(input float64\[4, 6\]\)(.|\n)*"
                  r"input is float64(.|\n)*give input.float\(\)", self.module, self.x.double())
        error = self.says(r"forward\(\) of Linear fails .*float32\[4, 5\](.|\n)*RuntimeError: .*mat1 and mat2", self.module, self.x[:, :5])
        self.assertNotIn(".item()", str(error))

    def test_what_is_raised_elsewhere_is_an_error_of_ours(self):
        import numpy

        self.says("cannot be exported.*TypeError: can't convert", self.module, numpy.array([object()]))


if __name__ == "__main__":
    unittest.main()
