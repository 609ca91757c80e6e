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

    def record(self, name, text):
        """The words that the script says of a model like the example, with these changes."""
        os.makedirs(OUT, exist_ok=True)
        path = os.path.join(OUT, name + ".py")
        with open(os.path.join(EXAMPLE, "example_model.py")) as example, open(path, "w") as file:
            file.write(example.read() + text)
        return subprocess.run([PYTHON, os.path.join(EXAMPLE, "record_case.py"), path, os.path.join(OUT, name)], capture_output=True, text=True)

    def test_a_file_that_onnx_cannot_evaluate_is_left_out(self):
        done = self.record("grouped", """
def model():
    return nn.Sequential(nn.ConvTranspose2d(1, 4, 3), nn.ConvTranspose2d(4, 4, 3, groups=2), nn.Flatten(), nn.Linear(4 * 12 * 12, 10))
""")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("model_default.onnx: left out, it cannot be checked: onnx's evaluator fails: ", done.stdout)
        said = self.run_in(os.path.join(BUILD, "bin", "gradus"), "check", os.path.join(OUT, "grouped"))
        self.assertIn("4 passed, 0 failed", said)

    def test_a_value_computed_ahead_is_found(self):
        done = self.record("unrolled", """
class Unrolled(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.RNNCell(8, 5), nn.Linear(5, 10)

    def forward(self, image):
        state = None
        for row in image[:, 0].unbind(1):
            state = self.cell(row, state)
        return self.head(state)


def model():
    return Unrolled()
""")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("model_default.onnx: left out, it has values computed ahead from parameters", done.stdout)

    def test_what_cannot_be_recorded_is_told_in_words(self):
        refused = {
            "log": ("def model():\n    return nn.Sequential(nn.Flatten(), nn.LogSigmoid(), Log(), nn.Linear(64, 10))\n"
                    "class Log(nn.Module):\n    def forward(self, x):\n        return x.log()\n",
                    "the model gives numbers that are not finite for the first batch"),
            "fast": ("OPTIMIZERS = {'sgd': {'type': 'sgd', 'lr': float('inf')}}\n", "the loss of step 1 is nan in float64"),
            "pair": ("def model():\n    return nn.Sequential(nn.Flatten(1, 2), nn.GRU(8, 10))\n",
                     "the model gives a tuple, expected one tensor"),
            "loss": ("LOSS = {'type': 'cross'}\n", "LOSS has the type 'cross', expected one of softmax_cross_entropy, mse"),
            "rule": ("OPTIMIZERS = {'a': {'type': 'lion'}}\n", "OPTIMIZERS['a'] has the type 'lion', expected one of sgd, adam, adamw"),
            "none": ("del OPTIMIZERS\n", "none.py lacks OPTIMIZERS; see example_model.py"),
        }
        for name, (text, words) in refused.items():
            with self.subTest(name):
                done = self.record(name, text)
                self.assertEqual(done.returncode, 1)
                self.assertIn(words, done.stderr)
                self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
