"""A module's normalizations train, or keep their statistics, as their modes say."""

import copy
import os
import sys
import unittest
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from needs_torch import torch, torch_is_missing  # noqa: E402
import package  # noqa: E402, F401  (puts the package on the path)


@unittest.skipIf(torch is None, torch_is_missing())
class BatchNorm(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(5)
        nn = torch.nn
        self.module = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
        for part in (self.module[1], self.module[4]):
            part.running_mean.uniform_(-1, 1)
            part.running_var.uniform_(0.5, 2)
        self.batches = [(torch.randn(16, 6), torch.randint(0, 3, (16,))) for _ in range(3)]

    def compiled(self, on_warning="error", **options):
        import gradus

        with warnings.catch_warnings():
            warnings.simplefilter(on_warning)
            step = gradus.compile(self.module, example=(self.batches[0][0],), loss="softmax_cross_entropy",
                                  optimizer=torch.optim.SGD(self.module.parameters(), lr=0.1), threads=1, cache=False, **options)
        self.addCleanup(step.close)
        return step

    def trains_as_in_eager(self, step):
        """As the module does in the modes that its parts have."""
        eager = copy.deepcopy(self.module)
        moves = torch.optim.SGD(eager.parameters(), lr=0.1)
        for inputs, labels in self.batches:
            loss = torch.nn.functional.cross_entropy(eager(inputs), labels)
            moves.zero_grad()
            loss.backward()
            moves.step()
            self.assertAlmostEqual(step(inputs, labels).loss, loss.item(), delta=1e-5)
        step.copy_to(self.module)
        for name, expected in eager.state_dict().items():
            if expected.is_floating_point():
                torch.testing.assert_close(self.module.state_dict()[name], expected, rtol=1e-4, atol=1e-5, msg=name)

    def test_they_use_the_batch_and_nothing_is_warned_of(self):
        self.trains_as_in_eager(self.compiled())

    def test_in_eval_mode_they_keep_their_statistics(self):
        for part in (self.module[1], self.module[4]):
            part.eval()
        before = self.module[1].running_mean.clone()
        self.trains_as_in_eager(self.compiled())
        self.assertTrue(torch.equal(self.module[1].running_mean, before))

    def test_a_module_all_in_eval_mode_is_trained(self):
        self.module.eval()
        step = self.compiled()
        self.module.train()
        self.trains_as_in_eager(step)

    def test_a_key_wins_over_their_modes(self):
        for part in (self.module[1], self.module[4]):
            part.eval()
        step = self.compiled("ignore", freeze_batch_norm=False)
        self.assertIn("2 batch normalizations are in inference form", str(step.diagnostics[0]))
        self.module.train()
        self.trains_as_in_eager(step)

    def test_one_alone_in_eval_mode_is_refused(self):
        import gradus

        self.module[4].eval()
        with self.assertRaisesRegex(gradus.NotExpressible, "the batch normalization '4' is in eval mode and '1' trains"):
            self.compiled()


@unittest.skipIf(torch is None, torch_is_missing())
class InstanceNorm(unittest.TestCase):
    def compiled(self, **options):
        import gradus

        torch.manual_seed(5)
        nn = torch.nn
        self.module = nn.Sequential(nn.Conv1d(2, 4, 3), nn.InstanceNorm1d(4, **options), nn.Flatten(), nn.Linear(24, 3))
        self.inputs = torch.randn(5, 2, 8)
        return gradus.compile(self.module, example=(self.inputs,), loss="softmax_cross_entropy", optimizer="sgd", threads=1, cache=False)

    def test_running_statistics_that_would_not_move_are_refused(self):
        import gradus

        with self.assertRaisesRegex(gradus.NotExpressible, r"the InstanceNorm1d '1' keeps running statistics \(track_running_stats=True\)"):
            self.compiled(track_running_stats=True, affine=True)

    def test_without_them_it_predicts_as_in_eager(self):
        with self.compiled(affine=True) as step, torch.no_grad():
            found = next(iter(dict(step.predict(self.inputs)).values()))
            torch.testing.assert_close(torch.from_numpy(found), self.module.eval()(self.inputs), rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
