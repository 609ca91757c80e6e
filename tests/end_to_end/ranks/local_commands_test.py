"""Ranks that train on their own and meet: one state where they do, in one file, and no end in between."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import rank_runs  # noqa: E402
from rank_runs import SIMULATED, STARTED, missing  # noqa: E402
from resumed_training import EVAL  # noqa: E402


class LocalSteps(rank_runs.RanksTest):
    RECIPE = {"optimizer": {"type": "adamw", "learning_rate": 0.001}, "precision": "bf16",
              "distribution": {"mode": "data_parallel", "reduce": "local", "every": 10}}

    def test_a_run_that_goes_on_from_a_meeting_has_the_bits_of_a_whole_one(self):
        self.train(30, "whole", *SIMULATED)
        self.train(10, "cut", *SIMULATED)
        self.train(30, "cut", *SIMULATED)
        self.expect_same_bits("whole", "cut")

    @unittest.skipIf(missing(), missing())
    def test_processes_have_the_bits_of_simulated_ranks(self):
        self.train(20, "simulated", *SIMULATED)
        self.train(20, "started", *STARTED)
        self.expect_same_bits("simulated", "started")

    def test_another_number_of_ranks_goes_on_from_a_meeting(self):
        self.train(10, "two", *SIMULATED)
        self.train(20, "two", "--simulate-ranks", "3")
        self.train(30, "two")

    def test_checkpoints_that_are_due_wait_for_a_meeting(self):
        self.train(20, "whole", *SIMULATED)
        self.train(20, "often", *SIMULATED, "--checkpoint-every", "3steps", "--keep", "9")
        self.expect_same_bits("whole", "often")
        kept = sorted(name.split(".step")[1] for name in os.listdir(self.folder.path) if ".often.step" in name)
        self.assertEqual(kept, ["10.safetensors", "20.safetensors"])

    def test_a_run_ends_and_is_tested_at_meetings(self):
        said = self.ends(self.words(25, "cut", *SIMULATED))
        self.assertIn("the run has 25 steps, but ranks meet after every 10 (distribution.every), and each has weights of its own in "
                      "between; take --steps 30", said)
        said = self.ends(self.words(30, "tested", *SIMULATED, *EVAL, "--eval-every", "4steps"))
        self.assertIn("tests are due after every 4 steps, but ranks meet after every 10", said)
        self.assertIn("take --eval-every 10steps", said)
        said = self.ends(self.words(30, "compared", *SIMULATED, "--check-replicas", "15"))
        self.assertIn("--check-replicas 15: ranks meet after every 10 steps", said)
        self.train(20, "compared", *SIMULATED, "--check-replicas", "10")


if __name__ == "__main__":
    unittest.main()
