"""The programs of docs/python/from_hugging_face.md run, and Gradus's takes the steps of the Trainer's."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pages  # noqa: E402
from needs_torch import torch  # noqa: E402

WHY = pages.missing("transformers", "datasets", "accelerate")
LOSS, WEIGHTS = 1e-4, 1e-3  # relative
ACCUMULATED = 2  # batches of an update


@unittest.skipIf(WHY, WHY)
class Page(unittest.TestCase):
    def by_trainer(self, setup, program):
        """The losses of a Trainer, which divides each by the batches of an update, its batches, and the trained model."""
        names, losses, batches = pages.run(setup, {}, seed=0), [], []
        inner = names["trainer"].compute_loss

        def compute_loss(model, inputs, *arguments, **options):
            batch, loss = dict(inputs), inner(model, inputs, *arguments, **options)
            if model.training:  # and not tested
                batches.append(batch)
                losses.append(ACCUMULATED * loss.item())
            return loss

        names["trainer"].compute_loss = compute_loss
        pages.run(program, names)
        return losses, batches, names["model"]

    def test_both_programs_take_the_same_steps(self):
        setup, theirs, ours, own_loss = pages.examples("from_hugging_face.md")
        with pages.folder():
            expected, batches, trained = self.by_trainer(setup, theirs)
            with pages.losses_of_fit() as found:
                names = pages.run(setup, {}, seed=0)
                again = pages.Again(batches, len(names["trainer"].get_train_dataloader()))
                names["trainer"].get_train_dataloader = lambda: again
                pages.run(ours, names)
            self.addCleanup(names["step"].close)
            self.compare(expected, found, trained, names)
            pages.run(own_loss, names)
            self.addCleanup(names["step"].close)
            self.assertLess(names["records"][-1]["train"]["loss"], expected[0])

    def compare(self, expected, found, trained, names):
        self.assertEqual((len(expected), len(found)), (120, 120))
        self.assertLess(expected[-1], 0.9 * expected[0])
        for number, (mine, other) in enumerate(zip(found, expected)):
            self.assertLessEqual(abs(mine - other), LOSS * other, f"loss of batch {number}")
        for (name, mine), other in zip(names["model"].state_dict().items(), trained.state_dict().values()):
            # What attention gives does not hang on the keys' bias: its gradient is rounding, whose size AdamW divides away.
            if not name.endswith("key.bias"):
                self.assertLessEqual((mine - other).norm().item(), WEIGHTS * other.norm().item(), name)
        self.assertGreater(names["records"][-1]["test"]["accuracy"], 0.5)


if __name__ == "__main__":
    unittest.main()
