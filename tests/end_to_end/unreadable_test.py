"""Data that can no longer be read, to train or to test on, ends a run that keeps what it had and names the file."""

import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from resumed_training import DATA, DIGITS, EVAL, GRADUS, ROOT, Folder, run  # noqa: E402


class Unreadable(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder("unreadable")
        cls.artifact = cls.folder.compile("net.gradus")

    def copied(self, name):
        return shutil.copy(os.path.join(DIGITS, f"{name}.safetensors"), self.folder.at(f"{self.id()}.{name}.safetensors"))

    def images(self):
        folder = self.folder.at(f"{self.id()}.images")
        run([sys.executable, os.path.join(ROOT, "tests", "tool", "write_images.py"), folder])
        return folder

    def ends(self, data, words, damage):
        """Trains until an epoch is done, calls `damage`, and expects the end that `words` say."""
        state = self.folder.at(f"{self.id()}.state.safetensors")
        command = [GRADUS, "train", self.artifact, *data, "--epochs", "100000000", "--checkpoint", state,
                   "--checkpoint-every", "9h", "--json"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        lines = iter(process.stdout.readline, "")
        self.assertTrue(any('"epoch":1' in line for line in lines), "it ended before")
        damage()
        _, errors = process.communicate()
        self.assertEqual(process.returncode, 2, errors)
        found = re.search(words + r"; the state of step (\d+) is in " + re.escape(state) +
                          "; continue with: .* --resume ", errors)
        self.assertTrue(found, errors)
        steps = str(int(found[1]) + 2)
        printed = run([GRADUS, "train", self.artifact, *DATA, "--steps", steps, "--resume", state,
                       "--no-checkpoint", "--json"])
        self.assertIn(f'"steps":{steps}', printed)

    def cut(self, path, size):
        return lambda: os.truncate(path, size)

    def test_labels_to_test_on_that_are_gone(self):
        path = self.copied("test")
        self.ends([*DATA, "--eval", path], re.escape(path) + ": the file was cut short while it was read: tensor '(?:image|label)' "
                  r"lacks its sample \d+", self.cut(path, 4096))

    def test_images_to_test_on_that_are_gone(self):
        path = self.folder.at("images_last.safetensors")
        run([sys.executable, os.path.join(ROOT, "tests", "end_to_end", "write_tensors.py"), path, "label:i64:40",
             "image:f32:40,1,28,28"])
        self.ends([*DATA, "--eval", path], re.escape(path) + ": the file was cut short while it was read: tensor 'image' "
                  r"lacks its sample \d+", self.cut(path, 8192))

    def test_a_part_kept_for_tests_that_is_gone(self):
        path = self.copied("train")
        self.ends(["--data", path, "--validation", "0.25"], re.escape(path) + ": the file was cut short while it was read: "
                  r"tensor '(?:image|label)' lacks its sample \d+", self.cut(path, 4096))

    def test_an_image_to_test_on_that_was_removed(self):
        folder = self.images()
        path = os.path.join(folder, "dark", "7.png")
        self.ends([*DATA, "--eval", folder], re.escape(path) + ": .*", lambda: os.remove(path))

    def test_an_image_to_train_on_that_was_removed(self):
        folder = self.images()
        path = os.path.join(folder, "light", "3.png")
        self.ends(["--data", folder, *EVAL], re.escape(path) + ": .*", lambda: os.remove(path))

    def test_training_data_that_are_gone(self):
        path = self.copied("train")
        self.ends(["--data", path], re.escape(path) + ": the file was cut short while it was read: tensor '(?:image|label)' "
                  r"lacks its sample \d+", self.cut(path, 4096))


if __name__ == "__main__":
    unittest.main()
