"""What ranks add to a step is the difference of the least times."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ranks


class Row(unittest.TestCase):
    def test_it_has_what_ranks_add_and_how_much_faster_gradus_is(self):
        figures = ranks.row("mlp", {"gradus": 1.0, "gradus, 2 ranks": 1.5, "torch": 2.0, "torch, 2 ranks": 4.5})
        self.assertEqual(figures["gradus adds"], 0.5)
        self.assertEqual(figures["torch adds"], 2.5)
        self.assertEqual(figures["faster"], 3.0)
        self.assertEqual(ranks.text_of(figures), "| mlp | 1.000 | 1.500 | 2.000 | 4.500 | 0.500 | 2.500 | 3.000 |")


if __name__ == "__main__":
    unittest.main()
