"""A few tries of each trial of ./dev torture: what it shows in minutes, in short.

The first is the promise that most hangs on: a run that is killed at any moment and resumed, again and again, ends in the
same bits as one that was left alone.
"""

import contextlib
import io
import os
import random
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from torture import TRIALS, report, torture  # noqa: E402
from training import begin  # noqa: E402
from this_build import is_sanitized  # noqa: E402

EPOCHS = 30
KILLS, OTHERS = 6, 3  # tries

once_is_enough = unittest.skipIf(is_sanitized(), "it is about files, and the other run has it: the sanitizers see nothing new")


class Torture(unittest.TestCase):
    def expect_held(self, name, tries):
        seed = random.randrange(1 << 32)
        print(f"torture: {name}, seed {seed}", flush=True)
        done, became = torture(TRIALS[name], seed, lambda done: done < tries, EPOCHS)
        if not done:
            self.skipTest(became)
        print(f"torture: {became}", flush=True)

    def test_a_killed_run_ends_as_one_that_was_not(self):
        self.expect_held("kill_training", KILLS)

    @once_is_enough
    def test_a_killed_compiler_leaves_a_whole_artifact(self):
        self.expect_held("kill_compiling", OTHERS)

    @once_is_enough
    def test_a_full_disk_spoils_no_checkpoint(self):
        self.expect_held("full_disk", OTHERS)

    @once_is_enough
    def test_a_quota_spoils_no_checkpoint(self):
        self.expect_held("quota", OTHERS)

    @once_is_enough
    def test_no_file_of_others_is_changed_through_a_link(self):
        self.expect_held("links", 5)

    @once_is_enough
    def test_closed_descriptors_spoil_no_file(self):
        self.expect_held("closed_descriptors", 7)

    @once_is_enough
    def test_a_run_whose_reader_went_away_can_go_on(self):
        self.expect_held("broken_pipe", OTHERS)


class Hanging:
    """A trial of which a process never ends."""

    name = "hanging"

    def __init__(self, epochs):
        pass

    def once(self, chance):
        Hanging.process = begin(["sleep", "1000"])
        raise subprocess.TimeoutExpired("gradus train", 600)


class Report(unittest.TestCase):
    def test_a_process_that_hangs_is_a_broken_promise_and_is_ended(self):
        with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()):
            line, held = report(Hanging, 7, 0)
        self.assertEqual((line[-1], held), ("FAILED", False))
        self.assertIsNotNone(Hanging.process.poll())
        self.assertIn("timed out after 600 seconds", said.getvalue())
        self.assertIn("./dev torture --only hanging --seed 7", said.getvalue())


if __name__ == "__main__":
    unittest.main()
