"""The example records a model as PyTorch trains it, and Gradus trains it the same."""

import os
import subprocess
import sys
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(ROOT, "build"))
DEPS = os.environ.get("GRADUS_DEPS") or os.path.join(os.path.expanduser("~"), ".cache", "gradus")
EXAMPLE = os.path.join(ROOT, "docs", "examples", "record_case")
OUT = os.path.join(BUILD, "tests", "record_case", "recorded")


def python_with_torch():
    for python in (os.path.join(DEPS, "peers", "torch", "bin", "python"), sys.executable):
        if os.path.exists(python) and not subprocess.run([python, "-c", "import torch, onnx, onnxscript"], capture_output=True).returncode:
            return python
    return None


PYTHON = python_with_torch()


@unittest.skipUnless(PYTHON, "PyTorch with onnx and onnxscript is not there (./dev bench --peers fetches it)")
class RecordCase(unittest.TestCase):
    def run_in(self, *command):
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_what_it_records_trains_the_same(self):
        os.makedirs(OUT, exist_ok=True)
        self.run_in(PYTHON, os.path.join(EXAMPLE, "record_case.py"), os.path.join(EXAMPLE, "example_model.py"), OUT)
        said = self.run_in(os.path.join(BUILD, "bin", "gradus"), "check", OUT)
        self.assertIn("model_default.onnx", said)
        self.assertIn("6 passed, 0 failed", said)


if __name__ == "__main__":
    unittest.main()
