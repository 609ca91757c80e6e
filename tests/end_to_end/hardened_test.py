"""On a system where memory that is written never becomes code (PR_SET_MDWE, as systemd's MemoryDenyWriteExecute sets)."""

import ctypes
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from resumed_training import DATA, DIGITS, GRADUS, Folder, run  # noqa: E402
from this_build import is_sanitized  # noqa: E402

PR_SET_MDWE, PR_GET_MDWE, REFUSE_EXEC_GAIN = 65, 66, 1
WORDS = "oneDNN needs memory that can be written and executed at once, which this system forbids"
LIBC = ctypes.CDLL(None)


def harden():
    if LIBC.prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0):
        raise OSError("PR_SET_MDWE")


@unittest.skipIf(LIBC.prctl(PR_GET_MDWE, 0, 0, 0, 0) < 0, "this kernel has no PR_SET_MDWE")
@unittest.skipIf(is_sanitized(), "sanitizers map such memory themselves")
class Hardened(unittest.TestCase):
    def hardened(self, *command, code=0):
        done = subprocess.run([GRADUS, *command], preexec_fn=harden, capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def compile(self, libraries):
        artifact = self.folder.at(f"{libraries}.gradus")
        run([GRADUS, "compile", os.path.join(DIGITS, "lenet.onnx"), "--recipe", os.path.join(DIGITS, "recipe.json"),
             "--libraries", libraries, "-o", artifact])
        return artifact

    def test_our_own_code_runs(self):
        self.folder = Folder("hardened_never")
        self.assertIn("train loss", self.hardened("train", self.compile("never"), *DATA, "--steps", "5"))

    def test_a_library_that_writes_code_is_refused_in_words(self):
        self.folder = Folder("hardened_always")
        said = self.hardened("train", self.compile("always"), *DATA, "--steps", "5", code=1)
        self.assertIn(f"{WORDS}; compile with --libraries never", said)

    def test_doctor_says_so(self):
        self.assertIn(WORDS, self.hardened("doctor"))


if __name__ == "__main__":
    unittest.main()
