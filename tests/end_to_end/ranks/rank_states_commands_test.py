"""Runs that end in the middle of an update: what each rank has gathered is in the checkpoint."""

import os
import shutil
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import rank_runs  # noqa: E402
from rank_runs import SIMULATED, STARTED, missing  # noqa: E402


class RankStates(rank_runs.RanksTest):
    """An update takes three batches."""

    def names_other_ranks(self, name):
        return b"ranks/1/accumulation/gradient/" in self.read(name)

    def check_bits(self, ranks):
        self.train(24, "whole", *ranks)
        self.assertFalse(self.names_other_ranks("whole"))
        self.train(10, "cut", *ranks, "--keep", "2")
        self.assertTrue(self.names_other_ranks("cut"))
        shutil.copy(self.at("cut.step10.safetensors"), self.at("moved.safetensors"))
        self.train(20, "cut", *ranks)
        self.train(24, "cut", *ranks)
        self.expect_same_bits("whole", "cut")
        self.train(24, "moved", *ranks)
        self.expect_same_bits("whole", "moved")

    def test_a_run_that_goes_on_within_an_update_has_the_bits_of_a_whole_one(self):
        self.check_bits(SIMULATED)

    @unittest.skipIf(missing(), missing())
    def test_processes_have_them_too(self):
        self.check_bits(STARTED)

    def test_another_number_of_ranks_is_warned(self):
        self.train(10, "cut", *SIMULATED)
        said = self.train(13, "cut", "--simulate-ranks", "3")
        self.assertRegex(said, r"warning: .*cut\.safetensors: was saved on 2 ranks before they had shared what each had of its own, and there "
                               r"are 3 now")
        self.assertIn("was saved on 3 ranks before they had shared what each had of its own, and there is 1 now", self.train(15, "cut"))


if __name__ == "__main__":
    unittest.main()
