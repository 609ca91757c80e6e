"""The artifact of every recorded model is compiled again for another target, without the model, to the bytes that the
model gives; and the program that it carries is small."""

import filecmp
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import recorded  # noqa: E402
from this_build import is_sanitized  # noqa: E402

SMALL = 256 << 10  # bytes that a program may always take
SHARE = 0.02  # of the weights, where that is more
HERE = ["--target", "cpu:x86-64-v2", "--threads", "2"]
THERE = ["--target", "cpu:x86-64-v3", "--threads", "3"]


def told(*command):
    done = subprocess.run([recorded.GRADUS, *command], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout


class CarriedProgram(unittest.TestCase):
    def check(self, folder, described, first):
        """The first file of a case is compiled for another target before, the others, which hold the same model as other
        exporters write it, for the same."""
        with tempfile.TemporaryDirectory() as out:
            case = recorded.description(folder)
            artifact = expected = recorded.compile_case(folder, case, described, out, *THERE)
            if first:
                expected = artifact + ".kept"
                os.rename(artifact, expected)
                recorded.compile_case(folder, case, described, out, *HERE)
            again = artifact.replace(".gradus", "-again.gradus")
            told("compile", artifact, *THERE, "-o", again)
            self.assertTrue(filecmp.cmp(expected, again, shallow=False), "other bytes than those of the model")
            facts = json.loads(told("inspect", "--json", artifact))
        self.assertGreater(facts["program"]["bytes"], 0)
        self.assertLessEqual(facts["program"]["bytes"], max(SMALL, SHARE * facts["weights_bytes"]))


def add_cases():
    for name, folder in recorded.folders().items():
        if recorded.is_full_size(folder):
            continue
        files = recorded.description(folder)["files"]
        # The program is that of the importer, and the other run has what all exporters write.
        for described in files[:1] if is_sanitized() else files:
            def test(self, folder=folder, described=described, first=described is files[0]):
                self.check(folder, described, first)
            part = f"{name}_{described['file']}".replace("-", "_").replace(".", "_")
            setattr(CarriedProgram, f"test_{part}", test)


add_cases()

if __name__ == "__main__":
    unittest.main()
