"""Of all turns the least counts, and what Python adds is the difference."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import package


class Rows(unittest.TestCase):
    def test_a_call_has_its_least_times_and_their_difference(self):
        figures = package.row("mlp", {"c": [3000.0, 1000.0], "python": [2500.0, 9000.0]})
        self.assertEqual((figures["c us"], figures["python us"], figures["adds us"], figures["ratio"]), (1.0, 2.5, 1.5, 2.5))

    def test_a_first_step_says_how_many_times_faster_it_is(self):
        figures = package.first_row("resnet50", {"gradus": [5.0, 4.0], "torch": [40.0, 32.0]})
        self.assertEqual(figures["faster"], 8.0)


if __name__ == "__main__":
    unittest.main()
