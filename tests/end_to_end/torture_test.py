"""Training that is killed at any moment loses no more than the steps since its last checkpoint.

A run is killed (kill -9) at random moments and resumed, again and again, until it is done: its log and its last
checkpoint are, bit by bit, those of a run that was left alone. A few kills by default; GRADUS_TORTURE=minutes: 100.
"""

import os
import random
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from resumed_training import DATA, EVAL, EVERYTHING, GRADUS, Folder, run  # noqa: E402

KILLS = 100 if os.environ.get("GRADUS_TORTURE") else 6
EPOCHS = 400 if os.environ.get("GRADUS_TORTURE") else 30


class Torture(unittest.TestCase):
    def command(self, name):
        path = self.folder.at
        state = path(f"{name}.safetensors")
        resume = ["--resume", state] if os.path.exists(state) else ["--overwrite"]
        return [GRADUS, "train", self.artifact, *DATA, *EVAL, "--epochs", str(EPOCHS), "--log", path(f"{name}.jsonl"),
                "--checkpoint", state, "--checkpoint-every", "7steps", "--keep", "2", "--best", "loss", *resume]

    def saved(self):
        """What changes with each checkpoint that is written; nothing while there is none."""
        try:
            found = os.stat(self.folder.at("tortured.safetensors"))
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns

    def ends(self, seconds, saves):
        """Whether a run ends by itself within so many seconds, if `saves` of its first checkpoint; else it is killed."""
        before = self.saved()
        with open(self.folder.at("said"), "w") as said:
            process = subprocess.Popen(self.command("tortured"), stdout=said, stderr=said)
            while saves and process.poll() is None and self.saved() == before:
                time.sleep(0.005)
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.resumed += before is not None and self.saved() != before
        if process.returncode > 0:
            self.fail(self.folder.bytes("said").decode()[-2000:])
        return process.returncode == 0

    def expect_same_runs(self):
        self.assertEqual(self.folder.log("whole.jsonl"), self.folder.log("tortured.jsonl"))
        for name in ("", ".best"):
            self.assertEqual(self.folder.bytes(f"whole{name}.safetensors"),
                             self.folder.bytes(f"tortured{name}.safetensors"))

    def test_a_killed_run_ends_as_one_that_was_not(self):
        self.folder = Folder("torture")
        self.artifact = self.folder.compile("net.gradus", **EVERYTHING)
        began = time.monotonic()
        run(self.command("whole"))
        longest = min(0.3, (time.monotonic() - began) / 4)
        seed = random.randrange(1 << 32)
        print(f"torture: seed {seed}", flush=True)
        chance, kills, runs, self.resumed = random.Random(seed), 0, 0, 0
        while kills < KILLS or runs == 0:
            # Every third at a moment of its start, the others after it has saved, however slowly it starts.
            torn = kills < KILLS
            if not self.ends(chance.uniform(0, longest) if torn else 600, saves=torn and kills % 3 != 2):
                kills += 1
                continue
            runs += 1
            self.expect_same_runs()
            for end in ("jsonl", "safetensors", "best.safetensors"):
                os.remove(self.folder.at(f"tortured.{end}"))
        self.assertGreater(self.resumed, 0)
        print(f"torture: {kills} kills, {self.resumed} runs that were resumed, {runs} that ended, each in the same bits",
              flush=True)


if __name__ == "__main__":
    unittest.main()
