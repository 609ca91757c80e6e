"""A module whose loss is exported with it predicts by its own outputs, without labels."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from needs_torch import torch, torch_is_missing  # noqa: E402


def twofold(outputs, label, weight):
    each = torch.nn.functional.cross_entropy(outputs, label, reduction="none")
    return (each * weight).mean()


@unittest.skipIf(torch is None, torch_is_missing())
class LossOfOnesOwn(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(4)
        nn = torch.nn
        self.module = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
        self.x, self.y = torch.randn(70, 6), torch.randint(0, 3, (70,))

    def compiled(self, module=None, **options):
        import gradus

        module = module or self.module
        step = gradus.compile(module, optimizer=torch.optim.SGD(module.parameters(), lr=0.1), threads=1, cache=False, **options)
        self.addCleanup(step.close)
        return step

    def same(self, found, x):
        step_of = self.module.eval()(x).detach().numpy()
        torch.testing.assert_close(found, step_of, rtol=1e-4, atol=1e-5)

    def test_any_number_of_samples_without_labels(self):
        import gradus

        step = self.compiled(example=self.x[:16], loss=twofold, labels=(self.y[:16], torch.ones(16)))
        step(self.x[:16], self.y[:16], torch.ones(16))
        step.copy_to(self.module)
        for size in (1, 16, 70):
            out = step.predict(self.x[:size])
            self.assertEqual(list(out), ["output"])
            self.same(out.output, self.x[:size])
        self.same(step.predict(input=self.x[:5]).output, self.x[:5])
        with_labels = step.predict(self.x[:16], self.y[:16], torch.ones(16))
        self.assertAlmostEqual(with_labels.loss, twofold(self.module(self.x[:16]), self.y[:16], torch.ones(16)).item(), places=4)
        self.same(with_labels.output, self.x[:16])
        with self.assertRaisesRegex(gradus.InvalidError, r"takes 3 inputs \(input, label_0, label_1\), found 2"):
            step.predict(self.x[:16], self.y[:16])

    def test_a_loss_of_torch_nn_that_is_no_key_of_the_recipe(self):
        module = torch.nn.Sequential(torch.nn.Linear(6, 1), torch.nn.Sigmoid())
        step = self.compiled(module, example=self.x[:16], loss=torch.nn.BCELoss(), labels=torch.ones(16, 1))
        torch.testing.assert_close(step.predict(self.x[:5]).output, module(self.x[:5]).detach().numpy(), rtol=1e-5, atol=1e-6)

    def test_a_module_that_computes_its_loss_where_it_has_labels(self):
        inner = self.module

        class Whole(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = inner

            def forward(self, x, labels, scale):
                logits = self.inner(x) * scale[:, None]
                return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

        step = self.compiled(Whole(), example={"x": self.x[:16], "labels": self.y[:16], "scale": torch.ones(16)}, loss="output")
        self.assertEqual(step.loss_inputs, ("labels",))
        self.same(step.predict(x=self.x[:5], scale=torch.ones(5)).logits, self.x[:5])
        self.same(step.predict(self.x[:5], torch.ones(5)).logits, self.x[:5])

    def test_where_labels_move_the_outputs_they_are_asked_for(self):
        import gradus

        class Leaking(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(6, 1)

            def forward(self, x, label):
                output = self.layer(x)[:, 0] + label
                return {"loss": output.square().mean(), "output": output}

        step = self.compiled(Leaking(), example=(self.x[:16], torch.ones(16)), loss="output")
        with self.assertRaisesRegex(gradus.InvalidError, r"predict takes 2 inputs \(x, label\), found 1"):
            step.predict(self.x[:5])
        self.assertEqual(step.predict(self.x[:5], torch.ones(5)).output.shape, (5,))

    def test_a_saved_step_says_what_it_does_not_know(self):
        import gradus

        step = self.compiled(example=self.x[:16], loss=twofold, labels=(self.y[:16], torch.ones(16)))
        with tempfile.TemporaryDirectory() as folder:
            step.save(os.path.join(folder, "a.gradus"))
            with gradus.load(os.path.join(folder, "a.gradus")) as saved:
                with self.assertRaisesRegex(gradus.InvalidError, r"found 1; .* give all of them, or step.copy_to\(module\)"):
                    saved.predict(self.x[:5])
                self.same(saved.predict(self.x[:5], self.y[:5], torch.ones(5)).output, self.x[:5])

    def test_averages_are_copied_to_the_module(self):
        step = self.compiled(example=self.x[:16], loss=torch.nn.CrossEntropyLoss(), ema=0.5)
        for _ in range(3):
            step(self.x[:16], self.y[:16])
        step.copy_to(self.module, ema=True)
        torch.testing.assert_close(self.module[0].weight.detach().numpy(), step["ema/average/0.weight"])
        self.same(step.predict(self.x[:5], ema=True).output, self.x[:5])


if __name__ == "__main__":
    unittest.main()
