"""Runs that end in the middle of an update: what each rank has gathered lies beside the checkpoint."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import rank_runs  # noqa: E402
from rank_runs import SIMULATED, STARTED, missing  # noqa: E402


class RankFiles(rank_runs.RanksTest):
    """An update takes three batches."""

    def beside(self, name):
        start = f"{self._testMethodName}.{name}."
        return sorted(each[len(start):] for each in os.listdir(self.folder.path) if each.startswith(start) and "rank" in each)

    def check_bits(self, ranks):
        self.train(24, "whole", *ranks)
        self.train(10, "cut", *ranks)
        self.assertEqual(self.beside("cut"), ["step10.rank1of2.safetensors"])
        self.train(20, "cut", *ranks)
        self.assertEqual(self.beside("cut"), ["step20.rank1of2.safetensors"])
        self.train(24, "cut", *ranks)
        self.assertEqual(self.beside("cut"), [])
        self.expect_same_bits("whole", "cut")

    def test_a_run_that_goes_on_within_an_update_has_the_bits_of_a_whole_one(self):
        self.check_bits(SIMULATED)

    @unittest.skipIf(missing(), missing())
    def test_processes_have_them_too(self):
        self.check_bits(STARTED)

    def test_a_run_that_ends_with_an_update_has_no_files_beside_it(self):
        self.train(12, "whole", *SIMULATED)
        self.assertEqual(self.beside("whole"), [])

    def test_another_number_of_ranks_is_warned(self):
        self.train(10, "cut", *SIMULATED)
        said = self.train(12, "cut", "--simulate-ranks", "3")
        self.assertRegex(said, r"warning: .*cut\.safetensors was written in the middle of an update by 2 ranks, and there are 3: each takes "
                               "what rank 0 had gathered for it")
        self.train(13, "cut", "--simulate-ranks", "3")
        self.assertIn("by 3 ranks, and there is 1: each takes", self.train(15, "cut"))

    def test_a_file_that_is_gone_ends_the_run(self):
        self.train(10, "cut", *SIMULATED)
        os.remove(self.at("cut.step10.rank1of2.safetensors"))
        said = self.ends(self.words(12, "cut", *SIMULATED))
        self.assertIn("cut.step10.rank1of2.safetensors: cannot open", said)


if __name__ == "__main__":
    unittest.main()
