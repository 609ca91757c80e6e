"""The programs of docs/python/from_lightning.md run, and Gradus's takes the steps of Lightning's."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pages  # noqa: E402
from needs_torch import torch  # noqa: E402

WHY = pages.missing("lightning")
LOSS, WEIGHTS = 1e-4, 1e-3  # relative


@unittest.skipIf(WHY, WHY)
class Page(unittest.TestCase):
    def in_lightning(self, setup, program):
        names, losses, batches = pages.run(setup, {}, seed=0), [], []
        inner = names["Classifier"].training_step

        def training_step(module, batch, number):
            loss = inner(module, batch, number)
            losses.append(loss.item())
            batches.append(batch)
            return loss

        names["Classifier"].training_step = training_step
        pages.run(program, names)
        return losses, batches, names["model"]

    def test_both_programs_take_the_same_steps(self):
        setup, theirs, ours = pages.examples("from_lightning.md")
        with pages.folder():
            expected, batches, trained = self.in_lightning(setup, theirs)
            with pages.losses_of_fit() as found:
                names = pages.run(setup, {}, seed=0)
                names["train"] = pages.Again(batches, len(names["train"]))
                pages.run(ours, names)
        self.addCleanup(names["step"].close)
        self.assertEqual((len(expected), len(found)), (60, 60))
        self.assertLess(expected[-1], 0.9 * expected[0])
        for number, (mine, other) in enumerate(zip(found, expected)):
            self.assertLessEqual(abs(mine - other), LOSS * other, f"loss of batch {number}")
        for (name, mine), other in zip(names["model"].state_dict().items(), trained.state_dict().values()):
            self.assertLessEqual((mine - other).norm().item(), WEIGHTS * other.norm().item(), name)
        self.assertGreater(names["records"][-1]["test"]["accuracy"], 0.5)


if __name__ == "__main__":
    unittest.main()
