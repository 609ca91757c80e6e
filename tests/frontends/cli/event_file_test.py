"""TensorBoard's own reader finds the figures of a run and of one that goes on from its checkpoint."""

import json
import os
import shutil
import subprocess
import unittest

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError:
    EventAccumulator = None

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(ROOT, "build"))
GRADUS = os.path.join(BUILD, "bin", "gradus")
DIGITS = os.path.join(ROOT, "docs", "examples", "digits")


@unittest.skipIf(EventAccumulator is None, "the Python package tensorboard is not installed")
class EventFile(unittest.TestCase):
    def setUp(self):
        self.work = os.path.join(BUILD, "tests", "events")
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        self.artifact = os.path.join(self.work, "lenet.gradus")
        subprocess.run([GRADUS, "compile", os.path.join(DIGITS, "lenet.onnx"), "--recipe",
                        os.path.join(DIGITS, "recipe.json"), "-o", self.artifact], check=True, capture_output=True)

    def train(self, steps, *more):
        subprocess.run([GRADUS, "train", self.artifact, "--data", os.path.join(DIGITS, "train.safetensors"), "--eval",
                        os.path.join(DIGITS, "test.safetensors"), "--steps", str(steps), "--tensorboard",
                        os.path.join(self.work, "run"), *more], check=True, capture_output=True)

    def test_tensorboard_reads_what_the_log_says(self):
        checkpoint, log = os.path.join(self.work, "c.safetensors"), os.path.join(self.work, "log.jsonl")
        self.train(50, "--checkpoint", checkpoint)
        os.rename(checkpoint, checkpoint + ".50")
        self.train(60)  # lost: the run that resumes does not know of it
        self.train(90, "--resume", checkpoint + ".50", "--log", log)
        events = EventAccumulator(os.path.join(self.work, "run"), size_guidance={"scalars": 0})
        events.Reload()
        self.assertEqual(sorted(events.Tags()["scalars"]),
                         sorted(f"{of}/{metric}" for of in ("train", "epoch", "test") for metric in ("loss", "accuracy")))
        with open(log) as file:
            steps = {line["step"]: line["loss"] for line in map(json.loads, file) if "loss" in line}
        found = {event.step: event.value for event in events.Scalars("train/loss")}
        self.assertEqual(sorted(found), list(range(1, 91)))
        for step, loss in steps.items():
            self.assertAlmostEqual(found[step], loss, places=6)


if __name__ == "__main__":
    unittest.main()
