"""A run that stops and resumes ends in the same bits as one that does not."""

import os
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from resumed_training import DATA, DEPTHWISE, EVAL, EVERYTHING, GRADUS, Folder, run, wait_for  # noqa: E402


class Resume(unittest.TestCase):
    def train(self, artifact, steps, name, *more):
        resumes = "--resume" in more
        run([GRADUS, "train", artifact, *DATA, "--steps", str(steps), "--checkpoint", self.folder.at(name), *more,
             *([] if resumes else ["--overwrite"])])

    def expect_same_bits(self, artifact, before=(), after=(), whole=()):
        """100 steps at once and in two parts, with options for each; 44 steps are an epoch."""
        self.train(artifact, 100, "whole.safetensors", *whole)
        self.train(artifact, 58, "part.safetensors", *before)
        self.train(artifact, 100, "part.safetensors", "--resume", self.folder.at("part.safetensors"), *after)
        self.assertEqual(self.folder.bytes("whole.safetensors"), self.folder.bytes("part.safetensors"))

    def test_every_method_goes_on_in_the_same_bits(self):
        self.folder = Folder("resume")
        for name, value in [*EVERYTHING.items(), ("on_nonfinite", "skip"), ("dropout", 0.5)]:
            with self.subTest(name):
                self.expect_same_bits(self.folder.compile(f"{name}.gradus", **{name: value}))

    def test_all_methods_together_go_on_in_the_same_bits(self):
        self.folder = Folder("resume_all")
        self.expect_same_bits(self.folder.compile("all.gradus", **EVERYTHING))

    def test_the_number_of_threads_may_change(self):
        self.folder = Folder("resume_threads")
        artifact = self.folder.compile("net.gradus", deterministic=True, **EVERYTHING)
        self.expect_same_bits(artifact, whole=("--threads", "1"), before=("--threads", "2"), after=("--threads", "1"))

    def test_the_order_of_the_samples_is_the_checkpoints(self):
        self.folder = Folder("resume_seed")
        artifact = self.folder.compile("net.gradus")
        self.expect_same_bits(artifact, whole=("--seed", "9"), before=("--seed", "9"))

    def test_depthwise_convolutions_in_16_bits_go_on_in_the_same_bits(self):
        self.folder = Folder("resume_depthwise")
        self.expect_same_bits(self.folder.compile("net.gradus", model=DEPTHWISE, precision="bf16"))

    def test_log_and_best_go_on_as_in_one_run(self):
        self.folder = Folder("resume_log")
        artifact = self.folder.compile("net.gradus", **EVERYTHING)
        for name, parts in (("whole", [132]), ("parts", [30, 88, 100, 132])):
            state = self.folder.at(f"{name}.safetensors")
            for part, steps in enumerate(parts):
                more = ["--resume", state] if part else []
                self.train(artifact, steps, f"{name}.safetensors", *EVAL, "--best", "loss", "--log",
                           self.folder.at(f"{name}.jsonl"), *more)
        whole, parts = self.folder.log("whole.jsonl"), self.folder.log("parts.jsonl")
        # A run that ends within an epoch has a line of its own for what there was of it.
        self.assertEqual(whole, [line for line in parts if "train" not in line or line["step"] % 44 == 0])

    def test_tests_within_an_epoch_go_on_as_in_one_run(self):
        self.folder = Folder("resume_tests")
        artifact = self.folder.compile("net.gradus", **EVERYTHING)
        for name, parts in (("whole", [88]), ("parts", [20, 30, 40, 80, 88])):
            state = self.folder.at(f"{name}.safetensors")
            for part, steps in enumerate(parts):
                more = ["--resume", state] if part else []
                self.train(artifact, steps, f"{name}.safetensors", *EVAL, "--eval-every", "20steps", "--log",
                           self.folder.at(f"{name}.jsonl"), *more)
        whole = self.folder.log("whole.jsonl")
        self.assertEqual(whole, self.folder.log("parts.jsonl"))
        self.assertEqual([line["step"] for line in whole if line.get("test")], [20, 40, 60, 80, 88])
        self.assertEqual(self.folder.bytes("whole.safetensors"), self.folder.bytes("parts.safetensors"))

    def test_an_epoch_line_that_was_not_reached_comes_in_the_next_run(self):
        """Stopped at the last step, before the figures of a part of an epoch; and after them."""
        self.folder = Folder("resume_last")
        artifact, best = self.folder.compile("net.gradus", **EVERYTHING), [*EVAL, "--best", "loss"]
        self.train(artifact, 60, "whole.safetensors", *best, "--log", self.folder.at("whole.jsonl"))
        self.train(artifact, 70, "part.safetensors", *best, "--log", self.folder.at("part.jsonl"), "--keep", "9",
                   "--checkpoint-every", "60steps")
        os.rename(self.folder.at("part.step60.safetensors"), self.folder.at("part.safetensors"))
        for again in range(2):
            self.train(artifact, 60, "part.safetensors", *best, "--log", self.folder.at("part.jsonl"), "--resume",
                       self.folder.at("part.safetensors"))
            self.assertEqual(self.folder.log("whole.jsonl"), self.folder.log("part.jsonl"))
            for name in ("", ".best"):
                self.assertEqual(self.folder.bytes(f"whole{name}.safetensors"),
                                 self.folder.bytes(f"part{name}.safetensors"))

    def test_the_test_at_a_runs_end_does_not_count_for_patience(self):
        self.folder = Folder("resume_patience")
        artifact = self.folder.compile("net.gradus", optimizer={"type": "sgd", "learning_rate": 1e-30})
        stops = [*EVAL, "--eval-every", "10steps", "--best", "loss", "--patience", "3", "--log"]
        for name, parts in (("whole", [88]), ("parts", [13, 27, 38, 88])):
            for part, steps in enumerate(parts):
                more = ["--resume", self.folder.at(f"{name}.safetensors")] if part else []
                self.train(artifact, steps, f"{name}.safetensors", *stops, self.folder.at(f"{name}.jsonl"), *more)
        whole = self.folder.log("whole.jsonl")
        self.assertEqual(whole[-1]["step"], 40)
        self.assertEqual(whole, self.folder.log("parts.jsonl"))
        for name in ("", ".best"):
            self.assertEqual(self.folder.bytes(f"whole{name}.safetensors"), self.folder.bytes(f"parts{name}.safetensors"))

    def test_what_is_said_after_a_signal_resumes(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.folder = Folder("resume_signal")
            artifact, state = self.folder.compile("net.gradus", **EVERYTHING), self.folder.at("c.safetensors")
            log = self.folder.at("c.jsonl")
            command = [GRADUS, "train", artifact, *DATA, "--steps", "30000", "--log", log, "--checkpoint", state]
            run([*command[:-1], self.folder.at("whole.safetensors")])
            os.remove(log)
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            wait_for(log, process)
            process.send_signal(number)
            said = process.communicate()[1]
            self.assertEqual(process.returncode, 130, said)
            run(["bash", "-c", re.search("continue with: (.*)", said)[1]])
            self.assertEqual(self.folder.bytes("whole.safetensors"), self.folder.bytes("c.safetensors"))


if __name__ == "__main__":
    unittest.main()
