"""The example records a model as PyTorch trains it, and Gradus trains it the same."""

import json
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

# A case for each loss, and one of all optimizers with options that PyTorch calls otherwise.
EVERY = """
import sys
sys.path.insert(0, sys.argv[1])
import record_case, torch
from torch import nn

torch.manual_seed(0)
WEIGHTS = [1.0, 2.0, 3.0, 4.0, 5.0]


def classes():
    return torch.randint(0, 5, (8,))


def numbers():
    return torch.rand(8, 5)


def signs():
    return torch.randint(0, 2, (8, 5)) * 2.0 - 1


def chances():
    return numbers().softmax(1)


def record(name, labels, loss, optimizers, *last):
    model = nn.Sequential(nn.Linear(6, 7), nn.Tanh(), nn.Linear(7, 5), *last)
    record_case.record(model, [({"x": torch.randn(8, 6)}, labels()) for _ in range(2)], loss, optimizers, sys.argv[2] + "/" + name,
                       {"model.onnx": record_case.EXPORTS["model.onnx"]})


for number, (loss, labels, *last) in enumerate([
        ({"type": "softmax_cross_entropy", "soft_labels": True}, chances),
        ({"type": "nll", "class_weights": WEIGHTS, "ignore_index": 2}, classes, nn.LogSoftmax(1)),
        ({"type": "multi_margin", "power": 2, "margin": 0.5, "class_weights": WEIGHTS}, classes),
        ({"type": "bce_with_logits", "pos_weight": [2.0]}, numbers),
        ({"type": "mse", "reduction": "sum"}, numbers),
        ({"type": "l1"}, numbers),
        ({"type": "smooth_l1", "beta": 0.3}, numbers),
        ({"type": "huber", "delta": 0.3}, numbers),
        ({"type": "kl_div", "reduction": "batchmean"}, chances, nn.LogSoftmax(1)),
        ({"type": "kl_div", "log_target": True}, lambda: chances().log(), nn.LogSoftmax(1)),
        ({"type": "hinge", "margin": 0.8}, signs),
        ({"type": "hinge_embedding", "margin": 0.5}, signs)]):
    record(f"{number}_{loss['type']}", labels, loss, {"sgd": {"type": "sgd", "lr": 0.1}}, *last)

OPTIONS = {"adadelta": {"lr": 1.0, "rho": 0.8}, "adafactor": {"d": 1.5, "beta2_decay": -0.7},
           "adagrad": {"lr_decay": 0.1, "initial_accumulator_value": 0.1}, "adam": {"amsgrad": True, "betas": [0.8, 0.99], "eps": 1e-6},
           "asgd": {"lambd": 0.01, "t0": 3, "alpha": 0.6}, "nadam": {"momentum_decay": 0.01, "decoupled_weight_decay": True, "weight_decay": 0.1},
           "rmsprop": {"alpha": 0.9, "centered": True, "momentum": 0.5}, "rprop": {"etas": [0.4, 1.3], "step_sizes": [1e-5, 1]}}
record("optimizers", numbers, {"type": "mse"},
       {name: {"type": name, "lr": 0.01, **OPTIONS.get(name, {})} for name in record_case.RULES})
"""


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

    def test_every_loss_and_optimizer_trains_the_same(self):
        self.run_in(PYTHON, "-c", EVERY, EXAMPLE, os.path.join(OUT, "every"))
        with open(os.path.join(OUT, "every", "optimizers", "case.json")) as file:
            runs = json.load(file)["runs"]
        self.assertEqual(sorted(run["optimizer"]["type"] for run in runs),
                         ["adadelta", "adafactor", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop", "rprop", "sgd"])
        said = self.run_in(os.path.join(BUILD, "bin", "gradus"), "check", os.path.join(OUT, "every"))
        self.assertIn("24 passed, 0 failed", said)

    def test_of_several_outputs_the_first_tensor_is_trained(self):
        done = self.record("several", """
class Several(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(64, 10)

    def forward(self, image):
        logits = self.net(image.flatten(1))
        return {"loss": None, "logits": (logits, 2 * logits)}


def model():
    return Several()
""")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the model gives a dict; the loss is of its first tensor, of shape [8, 10]", done.stdout)
        said = self.run_in(os.path.join(BUILD, "bin", "gradus"), "check", os.path.join(OUT, "several"))
        self.assertIn("6 passed, 0 failed", said)

    def test_what_cannot_be_recorded_is_told_in_words(self):
        refused = {
            "log": ("def model():\n    return nn.Sequential(nn.Flatten(), nn.LogSigmoid(), Log(), nn.Linear(64, 10))\n"
                    "class Log(nn.Module):\n    def forward(self, x):\n        return x.log()\n",
                    "the model gives numbers that are not finite for the first batch"),
            "fast": ("OPTIMIZERS = {'sgd': {'type': 'sgd', 'lr': float('inf')}}\n", "the loss of step 1 is nan in float64"),
            "empty": ("class Empty(nn.Module):\n    def forward(self, x):\n        return {}\ndef model():\n    return Empty()\n",
                      "the model gives a dict without a tensor, expected one; wrap it in a module that picks one"),
            "loss": ("LOSS = {'type': 'cross'}\n", "LOSS has the type 'cross', expected one of softmax_cross_entropy, nll"),
            "key": ("LOSS = {'type': 'mse', 'beta': 1}\n", "LOSS has the key 'beta', expected one of type, reduction"),
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
