"""A prediction is compared with the median of what was simulated."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import predictions


class Row(unittest.TestCase):
    def test_it_has_medians_and_their_ratio(self):
        figures = predictions.row("lenet5", "150MB/s,20us", [(2.0, 2.2), (9.0, 2.4), (1.0, 2.0)])
        self.assertEqual(figures["predicted"], 2.0)
        self.assertEqual(figures["simulated"], 2.2)
        self.assertAlmostEqual(figures["ratio"], 1.1)


if __name__ == "__main__":
    unittest.main()
