"""What a method may cost follows from the plain update of the same run."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import methods

TIMES = {"plain": 7.0, "method-adamw": 7.2, "method-copies": 8.0, "method-ema": 9.0}  # 0.25 ms a byte


class Verdicts(unittest.TestCase):
    def of(self, name):
        return methods.verdict(next(method for method in methods.METHODS if method.name == name), TIMES)

    def test_an_update_reaches_85_percent_of_the_plain_rate(self):
        self.assertEqual(self.of("adamw"), (7.2, 7.0 / 0.85))
        self.assertEqual(self.of("copies"), (8.0, 7.5 / 0.85))

    def test_a_method_costs_its_bytes_and_a_tenth(self):
        mine, allowed = self.of("ema")
        self.assertEqual(mine, 9.0)
        self.assertAlmostEqual(allowed, 7.2 + 1.1 * 8 * 0.25)

    def test_only_what_met_the_fast_machine_counts(self):
        seen = {"one": [(5.0, 14.0), (9.0, 7.1)], "other": [(20.0, 13.0), (18.0, 14.0)]}
        self.assertEqual(methods.in_one_state(seen), {"one": 9.0, "other": 18.0, "plain": 7.1})

    def test_kernels_are_summed_at_their_least(self):
        one, other = ([{"kind": "kernel", "name": "adamw x2", "us": us}, {"kind": "library", "name": "matmul", "us": 5},
                       {"kind": "kernel", "name": "norm", "us": 3}] for us in (10, 8))
        rounds = [{"commands": one}, {"commands": other}]
        self.assertAlmostEqual(methods.kernels(rounds), 0.011)
        self.assertAlmostEqual(methods.kernels(rounds, "adamw"), 0.008)


if __name__ == "__main__":
    unittest.main()
