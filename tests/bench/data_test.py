"""What the bench of data compares, and what it calls linear."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import data


class Threads(unittest.TestCase):
    def test_they_double_up_to_the_cores(self):
        self.assertEqual([data.counts(cores) for cores in (1, 2, 6, 8)], [[1], [1, 2], [1, 2, 4, 6], [1, 2, 4, 8]])


class Ratios(unittest.TestCase):
    def test_rates_are_images_a_second(self):
        self.assertEqual(data.rates([4.0, 1.0, 2.0]), {"best": 1600.0, "median": 800.0})

    def test_the_most_threads_are_compared_with_the_peer(self):
        result = {"gradus-1": {"best": 500.0, "median": 400.0}, "gradus-2": {"best": 900.0, "median": 600.0},
                  "torch-2": {"best": 450.0, "median": 400.0}}
        self.assertEqual(list(data.ratios(result)), [("times PyTorch's DataLoader", 2.0, 1.5, data.GOAL),
                                                     ("of linear, 2 threads", 0.9, 0.75, data.LINEAR)])

    def test_one_core_alone_has_nothing_to_compare(self):
        self.assertEqual(list(data.ratios({"gradus-1": {"best": 1.0, "median": 1.0}})), [])


if __name__ == "__main__":
    unittest.main()
