"""Training goes on to the same bits, whatever becomes of the file of its artifact."""

import os
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from resumed_training import DATA, EVAL, GRADUS, Folder, run, wait_for  # noqa: E402


def empty(path):
    os.truncate(path, 0)


def overwrite(path):
    with open(path, "r+b") as file:
        file.write(os.urandom(os.path.getsize(path)))


class ChangedArtifact(unittest.TestCase):
    def train(self, name, *more):
        """The command; steps enough for the file to change meanwhile."""
        return [GRADUS, "train", self.folder.at("net.gradus"), *DATA, "--steps", "20000", "--checkpoint",
                self.folder.at(f"{name}.safetensors"), "--log", self.folder.at(f"{name}.jsonl"), *more]

    def test_training_goes_on(self):
        self.folder = Folder("changed_artifact")
        shutil.copy(self.folder.compile("net.gradus"), self.folder.at("copy.gradus"))
        run(self.train("whole"))
        for change in (empty, overwrite, os.remove):
            with self.subTest(change.__name__):
                shutil.copy(self.folder.at("copy.gradus"), self.folder.at("net.gradus"))
                process = subprocess.Popen(self.train("changed", "--overwrite"), stdout=subprocess.PIPE,
                                           stderr=subprocess.STDOUT, text=True)
                wait_for(self.folder.at("changed.jsonl"), process)
                change(self.folder.at("net.gradus"))
                self.assertIsNone(process.poll(), "it was to change while training")
                said = process.communicate()[0]
                self.assertEqual(process.returncode, 0, said)
                self.assertEqual(self.folder.bytes("whole.safetensors"), self.folder.bytes("changed.safetensors"))
                self.assertEqual(self.folder.log("whole.jsonl"), self.folder.log("changed.jsonl"))
                os.remove(self.folder.at("changed.jsonl"))

    def test_a_signal_saves_as_ever(self):
        self.folder = Folder("changed_artifact_signal")
        shutil.copy(self.folder.compile("net.gradus"), self.folder.at("copy.gradus"))
        process = subprocess.Popen(self.train("changed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.folder.at("changed.jsonl"), process)
        empty(self.folder.at("net.gradus"))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(), 130)
        run([GRADUS, "evaluate", self.folder.at("copy.gradus"), "--data", EVAL[1], "--checkpoint",
             self.folder.at("changed.safetensors")])


if __name__ == "__main__":
    unittest.main()
