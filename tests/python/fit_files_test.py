"""The files that a training writes: refused before its first step, and never written over unasked."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package import artifact, batch, needs_package  # noqa: E402


def arrays(samples, seed=0):
    image, label = batch(seed, samples)
    return {"image": image, "label": label}


@needs_package
class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def at(self, name):
        return os.path.join(self.folder.name, name)

    def load(self):
        import gradus

        step = gradus.load(artifact(), threads=1)
        self.addCleanup(step.close)
        return step

    def write(self, name, text):
        with open(self.at(name), "w") as file:
            file.write(text)
        return self.at(name)

    def read(self, name):
        with open(self.at(name)) as file:
            return file.read()

    def refused(self, words, step=None, data=None, **options):
        """Asserts that `fit` is refused before its first step."""
        import gradus

        step = step or self.load()
        before = step.step_count
        with self.assertRaisesRegex(gradus.InvalidError, words):
            step.fit(arrays(64) if data is None else data, **options)
        self.assertEqual(step.step_count, before)

    def test_what_cannot_be_written_is_refused_before_the_first_step(self):
        os.mkdir(self.at("folder.html"))
        os.mkfifo(self.at("pipe.html"))
        self.refused("checkpoint: .*c.safetensors cannot be written: the folder .*nodir is not there", checkpoint=self.at("nodir/c.safetensors"))
        self.refused("checkpoint: .* is a folder, expected the name of a file", checkpoint=self.folder.name)
        self.refused("report: .*a.html cannot be written: the folder .*nodir is not there", report=self.at("nodir/a.html"))
        self.refused("report: .*folder.html is a folder", report=self.at("folder.html"))
        self.refused("report: .*pipe.html is no file", report=self.at("pipe.html"))
        self.refused("nodir/l", log=self.at("nodir/l"))
        self.refused("report: /proc/a.html cannot be written: ", report="/proc/a.html")
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["folder.html", "pipe.html"], "what was tried is removed")


if __name__ == "__main__":
    unittest.main()
