"""What modules.py lets pass where rounding is loud, and what it finds there: mistakes are seeded into PyTorch's side."""

import copy
import os
import sys
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from needs_torch import torch, torch_is_missing  # noqa: E402

if torch:
    import modules  # noqa: E402
    from gradus.torch_.export import exported  # noqa: E402

    class SteepRelu(torch.nn.ReLU):
        """The values of a ReLU, and gradients that are a tenth of a per cent too large."""

        def forward(self, x):
            y = super().forward(x)
            return y + 0.001 * (y - y.detach())


    class SteepLinear(torch.nn.Linear):
        """The values of a Linear, and gradients of its weight that are 0.4 per cent too large."""

        def forward(self, x):
            return torch.nn.functional.linear(x, self.weight + 0.004 * (self.weight - self.weight.detach()), self.bias)


def deep(blocks=12, width=8):
    """Normalizes by four values again and again, which multiplies roundings."""
    torch.manual_seed(1)
    nn = torch.nn
    layers = [layer for _ in range(blocks) for layer in (nn.Linear(width, width, bias=False), nn.BatchNorm1d(width), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(width, 3))


def epsilon(module):
    module[4].eps = 1.01e-5


def momentum(module):
    module[4].momentum = 0.101


def gradient(module):
    module[5] = SteepRelu()


def last_gradient(module):
    right = module[-1]
    module[-1] = SteepLinear(right.in_features, right.out_features)
    module[-1].load_state_dict(right.state_dict())


@unittest.skipIf(torch is None, torch_is_missing())
class Rule(unittest.TestCase):
    def setUp(self):
        torch.set_num_threads(1)
        self.case = modules.Case("deep", "", [("x", [4, 8], 0)], "classes")
        self.module = deep()
        self.batches = [self.case.batch(seed) for seed in (2, 3)]
        self.labels = [torch.tensor([0, 1, 2, 0]), torch.tensor([2, 1, 1, 0])]

    def verdict(self, eager, optimizer):
        """Of the right module in Gradus and of `eager` in PyTorch, in f32 by all of PyTorch's runs, and in f64."""
        given = (self.batches, self.labels, optimizer)
        file = exported(self.module, (self.batches[0]["x"],))
        with modules.default_dtype(torch.float64):
            double = exported(modules.in_double(self.module), (self.batches[0]["x"].double(),))
        runs = [modules.in_eager(self.case, eager, *given, torch.float32)]
        runs += modules.further_runs(self.case, eager, *given, torch.float32)
        exact = modules.in_eager(self.case, eager, *given, torch.float64)
        verdict = modules.judge(modules.Verdict("deep", optimizer, runs=len(runs)),
                                modules.in_gradus(self.case, self.module, file, *given), runs, exact)
        with mock.patch.object(modules, "exported", return_value=double):
            verdict.double = modules.beside_double(self.case, eager, *given)
        return verdict

    def test_the_same_module_passes(self):
        for optimizer in modules.OPTIMIZERS:
            with self.subTest(optimizer):
                verdict = self.verdict(self.module, optimizer)
                self.assertTrue(verdict.passed, verdict.line())

    def test_mistakes_are_found(self):
        for mistake in (epsilon, momentum, gradient):
            wrong = copy.deepcopy(self.module)
            mistake(wrong)
            with self.subTest(mistake.__name__):
                verdict = self.verdict(wrong, "sgd")
                self.assertFalse(verdict.passed, verdict.line())

    def test_f64_finds_what_rounding_in_f32_may_hide(self):
        wrong = copy.deepcopy(self.module)
        last_gradient(wrong)
        with modules.default_dtype(torch.float64):
            file = exported(modules.in_double(self.module), (self.batches[0]["x"].double(),))
        for module, passes in ((self.module, True), (wrong, False)):
            with mock.patch.object(modules, "exported", return_value=file):
                verdict = modules.beside_double(self.case, module, self.batches, self.labels, "sgd")
            self.assertEqual(verdict.passed, passes, verdict.line())
            self.assertEqual(verdict.update <= 1, passes, verdict.line())

    def test_bounds_of_f64_are_those_of_f64(self):
        """In f32 an update may be off by 0.5 per cent, in f64 by none."""
        theirs, ours = ([1.0], {"w": torch.ones(2)}), ([1.0], {"w": 1.004 * torch.ones(2)})
        self.assertTrue(modules.judge(modules.Verdict("", ""), ours, [theirs], theirs).passed)
        self.assertFalse(modules.judge(modules.Verdict("", ""), ours, [theirs], theirs, torch.float64).passed)

    def test_the_farthest_run_says_what_is_allowed(self):
        exact, ours = ([1.0], {"w": torch.ones(2)}), ([1.0], {"w": 1.5 * torch.ones(2)})
        runs = [exact, ([1.0], {"w": 1.1 * torch.ones(2)}), exact]
        self.assertTrue(modules.judge(modules.Verdict("", ""), ours, iter(runs), exact).passed)
        self.assertFalse(modules.judge(modules.Verdict("", ""), ours, iter(runs[2:]), exact).passed)

    def test_nan_does_not_pass(self):
        change = {"w": torch.ones(2)}
        good, bad = ([1.0, 1.0], change), ([1.0, float("nan")], change)
        self.assertTrue(modules.judge(modules.Verdict("", ""), good, [good], good).passed)
        self.assertFalse(modules.judge(modules.Verdict("", ""), bad, [good], good).passed)

    def of_updates(self, *updates):
        """The verdict where PyTorch has changed each of these parameters by ones."""
        theirs = ([1.0], {name: torch.ones(2) for name in "abc"[: len(updates)]})
        return modules.judge(modules.Verdict("", ""), ([1.0], dict(zip("abc", updates))), [theirs], theirs)

    def test_a_good_parameter_does_not_hide_a_bad_one_before_it(self):
        good, lost = torch.ones(2), torch.full((2,), float("nan"))
        self.assertTrue(self.of_updates(good, good).passed)
        for updates in ((lost, good), (good, lost), (2 * good, lost, good), (2 * good, good), (good * float("inf"), good)):
            verdict = self.of_updates(*updates)
            self.assertFalse(verdict.passed, verdict.line())

    def test_a_run_of_pytorch_that_diverges_allows_nothing(self):
        good, lost = ([1.0], {"w": torch.ones(2)}), ([1.0], {"w": torch.full((2,), float("inf"))})
        self.assertFalse(modules.judge(modules.Verdict("", ""), ([1.0], {"w": 2 * torch.ones(2)}), [good, lost], good).passed)


if __name__ == "__main__":
    unittest.main()
