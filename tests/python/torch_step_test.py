"""A module that `gradus.compile` takes with a loss, an optimizer and metrics of PyTorch trains as it does there, and gets its weights back."""

import copy
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from needs_torch import torch, torch_is_missing  # noqa: E402


@unittest.skipIf(torch is None, torch_is_missing())
class Compiled(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(4)
        nn = torch.nn
        self.module = nn.Sequential(nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10))
        self.batches = [(torch.randn(16, 1, 8, 8), torch.randint(0, 10, (16,))) for _ in range(10)]

    def compiled(self, module, **options):
        import gradus

        step = gradus.compile(module, example=(self.batches[0][0],), loss=torch.nn.CrossEntropyLoss(label_smoothing=0.1),
                              optimizer=torch.optim.AdamW(module.parameters(), lr=1e-3), metrics=["accuracy"], threads=1, cache=False,
                              **options)
        self.addCleanup(step.close)
        return step

    def in_eager(self, module):
        loss, moves = torch.nn.CrossEntropyLoss(label_smoothing=0.1), torch.optim.AdamW(module.parameters(), lr=1e-3)
        for x, y in self.batches:
            value = loss(module.train()(x), y)
            moves.zero_grad()
            value.backward()
            moves.step()
            yield value.item()

    def test_it_trains_as_in_eager_mode_and_its_weights_come_back(self):
        step, eager = self.compiled(self.module), copy.deepcopy(self.module)
        for (x, y), expected in zip(self.batches, self.in_eager(eager)):
            out = step(x, y)
            self.assertAlmostEqual(out.loss, expected, delta=1e-4 * expected)
            self.assertIn(round(out.accuracy * 16), range(17))
        self.assertIn("<gradus.Step Sequential(input f32[16, 1, 8, 8], label i64[16]) -> loss, accuracy; ", repr(step))
        step.copy_to(self.module)
        for name, expected in eager.state_dict().items():
            if expected.is_floating_point():
                torch.testing.assert_close(self.module.state_dict()[name], expected, rtol=1e-3, atol=1e-4, msg=name)

    def test_a_step_in_16_bits_gives_weights_back_in_32(self):
        step = self.compiled(self.module, precision="bf16")
        before = self.module[0].weight.detach().clone()
        step(*self.batches[0])
        step.copy_to(self.module)
        moved = (self.module[0].weight - before).abs()
        self.assertEqual(moved.dtype, torch.float32)
        self.assertGreater(moved.max().item(), 1e-4)
        self.assertLess(moved.max().item(), 2e-3)

    def test_a_test_takes_inputs_that_require_a_gradient(self):
        step = self.compiled(self.module)
        x, y = self.batches[0]
        expected = step.evaluate([(x, y)])
        self.assertEqual(step.evaluate([(x.clone().requires_grad_(), y)]), expected)

    def test_what_is_fixed_is_joined(self):
        """What the module says, the keyword or else the recipe."""
        self.module[4].bias.requires_grad_(False)
        for options in ({}, {"fixed": "0.*"}, {"fixed": ["0.weight"]}, {"recipe": {"fixed": ["0.*"]}}):
            step = self.compiled(self.module, **options)
            before = step.state_dict()
            step(*self.batches[0])
            stay = {name for name, array in step.state_dict().items() if (array == before[name]).all()}
            self.assertEqual(stay, {"4.bias", "0.weight"} if options else {"4.bias"}, options)

    def test_it_takes_what_the_modules_state_dict_gives(self):
        import gradus

        step = self.compiled(self.module)
        other = torch.nn.Sequential(*(copy.deepcopy(part) for part in self.module))
        with torch.no_grad():
            other[0].weight.mul_(2)
        self.assertIn("1.num_batches_tracked", other.state_dict())
        step.load_state_dict(other.state_dict())
        torch.testing.assert_close(torch.from_numpy(step["0.weight"].copy()), other[0].weight.detach())
        with self.assertRaisesRegex(gradus.InvalidError, "not in the step: more; strict=False passes over these"):
            step.load_state_dict({**other.state_dict(), "more": torch.ones(2)})

    def test_of_several_outputs_the_loss_takes_the_one_that_is_said(self):
        import gradus

        class Two(torch.nn.Linear):
            def forward(self, x):
                return {"hidden": x, "logits": super().forward(x)}

        module, x = Two(3, 2), torch.randn(4, 3)
        options = {"example": (x,), "loss": torch.nn.CrossEntropyLoss(), "cache": False}
        with self.assertRaisesRegex(gradus.NotExpressible, "has 2 outputs: hidden, logits. Say which .* output='hidden', or .* outputs='hidden'"):
            gradus.compile(module, **options)
        for said in ({"output": "logits"}, {"outputs": "logits"}):
            with gradus.compile(module, **options, **said) as step:
                self.assertGreater(step(x, torch.zeros(4, dtype=torch.long)).loss, 0)

    def test_what_cannot_be_said_is_an_error_of_gradus(self):
        import gradus

        with self.assertRaisesRegex(gradus.Error, "LBFGS has no form here"):
            gradus.compile(self.module, example=(self.batches[0][0],), loss="mse", optimizer=torch.optim.LBFGS(self.module.parameters()))
        with self.assertRaisesRegex(gradus.NotExpressible, "the example does not fit"):
            gradus.compile(self.module, example=(torch.randn(3), torch.randn(3)), loss="mse")


if __name__ == "__main__":
    unittest.main()
