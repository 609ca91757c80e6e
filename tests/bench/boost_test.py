"""What freezing saves follows from the variants' shares."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import boost

GRAPHS = ["train"] + [f"train_cut{cut}" for cut in range(1, 10)]


class Shares(unittest.TestCase):
    def test_they_are_those_of_type_1(self):
        shares = boost.shares(GRAPHS)
        self.assertAlmostEqual(sum(shares.values()), 1)
        self.assertEqual(shares["train"], 0.7)
        self.assertAlmostEqual(shares["train_cut1"], 0.3 * 9 / 45)
        self.assertAlmostEqual(shares["train_cut9"], 0.3 * 1 / 45)

    def test_a_step_without_variants_saves_nothing(self):
        self.assertEqual(boost.saving(["train"], {"train": 5.0}), 0)

    def test_a_saving_is_a_part_of_the_whole_step(self):
        times = {graph: 1.0 for graph in GRAPHS} | {"train": 2.0}
        self.assertAlmostEqual(boost.saving(GRAPHS, times), 0.15)


class Summary(unittest.TestCase):
    def test_it_has_mean_error_and_range(self):
        self.assertEqual(boost.summary([98.0, 99.0, 100.0]), "99.00 ± 0.58 (98.00 - 100.00)")


if __name__ == "__main__":
    unittest.main()
