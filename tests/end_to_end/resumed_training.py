"""What tests of resumed training share: a small net with all that a step may remember, and how runs are compared."""

import json
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from this_build import BUILD  # noqa: E402

GRADUS = os.path.join(BUILD, "bin", "gradus")
DIGITS = os.path.join(ROOT, "docs", "examples", "digits")
DATA = ["--data", os.path.join(DIGITS, "train.safetensors")]
EVAL = ["--eval", os.path.join(DIGITS, "test.safetensors")]

# Dropout draws from a stream of seed and step.
MODEL = """
gradus.program @net {
  gradus.state @fc1.weight : tensor<784x24xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @fc1.bias : tensor<24xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @fc2.weight : tensor<24x10xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.graph @predict(%image: tensor<32x1x28x28xf32>) -> (logits: tensor<32x10xf32>) {
    %w1 = gradus.read @fc1.weight : tensor<784x24xf32>
    %b1 = gradus.read @fc1.bias : tensor<24xf32>
    %w2 = gradus.read @fc2.weight : tensor<24x10xf32>
    %flat = gradus.reshape %image : tensor<32x1x28x28xf32> -> tensor<32x784xf32>
    %0 = gradus.matmul %flat, %w1 : tensor<32x784xf32>, tensor<784x24xf32> -> tensor<32x24xf32>
    %1 = gradus.broadcast %b1 dims [1] : tensor<24xf32> -> tensor<32x24xf32>
    %2 = arith.addf %0, %1 : tensor<32x24xf32>
    %3 = math.tanh %2 : tensor<32x24xf32>
    %4 = gradus.dropout %3 ratio 0.25 : tensor<32x24xf32>
    %logits = gradus.matmul %4, %w2 : tensor<32x24xf32>, tensor<24x10xf32> -> tensor<32x10xf32>
    gradus.return %logits : tensor<32x10xf32>
  }
}
"""

# Convolutions of single channels, which our own code computes in 16 bits.
DEPTHWISE = """
gradus.program @depthwise {
  gradus.state @stem : tensor<16x1x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @depthwise : tensor<16x1x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @fc : tensor<16x10xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.graph @predict(%image: tensor<32x1x28x28xf32>) -> (logits: tensor<32x10xf32>) {
    %w1 = gradus.read @stem : tensor<16x1x3x3xf32>
    %w2 = gradus.read @depthwise : tensor<16x1x3x3xf32>
    %w3 = gradus.read @fc : tensor<16x10xf32>
    %0 = gradus.convolution %image, %w1 strides [2, 2] pads [1, 1] to [0, 0] dilations [1, 1]
        : tensor<32x1x28x28xf32>, tensor<16x1x3x3xf32> -> tensor<32x16x14x14xf32>
    %1 = gradus.relu %0 : tensor<32x16x14x14xf32>
    %2 = gradus.convolution %1, %w2 strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] groups 16
        : tensor<32x16x14x14xf32>, tensor<16x1x3x3xf32> -> tensor<32x16x14x14xf32>
    %3 = gradus.relu %2 : tensor<32x16x14x14xf32>
    %4 = gradus.reduce mean %3 axes [2, 3] : tensor<32x16x14x14xf32> -> tensor<32x16xf32>
    %logits = gradus.matmul %4, %w3 : tensor<32x16xf32>, tensor<16x10xf32> -> tensor<32x10xf32>
    gradus.return %logits : tensor<32x10xf32>
  }
}
"""

RECIPE = {
    "loss": {"type": "softmax_cross_entropy", "output": "logits"},
    "metrics": ["accuracy"],
    "optimizer": {"type": "adamw", "learning_rate": 0.002},
    "seed": 3,
}

# All that a step may remember of those before it.
EVERYTHING = {
    "accumulation": 3,
    "ema": {"decay": 0.99},
    "loss_scale": {"type": "dynamic", "initial": 65536, "growth_interval": 5},
    "clip": {"type": "global_norm", "value": 1.0},
    "schedule": {"learning_rate": [{"type": "linear_warmup", "steps": 10}, {"type": "cosine", "steps": 500}]},
}


class Folder:
    """A fresh folder for one test, with what is compiled and trained in it."""

    def __init__(self, name):
        self.path = os.path.join(BUILD, "tests", name)
        shutil.rmtree(self.path, ignore_errors=True)
        os.makedirs(self.path)

    def at(self, name):
        return os.path.join(self.path, name)

    def compile(self, name, targets=(), model=None, **recipe):
        with open(self.at("net.mlir"), "w") as file:
            file.write(model or MODEL)  # which tests may replace
        with open(self.at("recipe.json"), "w") as file:
            json.dump({**RECIPE, **recipe}, file)
        run([GRADUS, "compile", self.at("net.mlir"), "--recipe", self.at("recipe.json"), "-o", self.at(name),
             *(word for target in targets for word in ("--target", target))])
        return self.at(name)

    def bytes(self, name):
        with open(self.at(name), "rb") as file:
            return file.read()

    def log(self, name):
        """The lines of a log without their times."""
        with open(self.at(name)) as file:
            lines = [json.loads(line) for line in file]
        for line in lines:
            line.pop("ms_per_step", None)
        return lines


def wait_for(path, process):
    """Until a file has something in it, or the process that is to write it has ended."""
    while process.poll() is None and not (os.path.exists(path) and os.path.getsize(path)):
        time.sleep(0.005)


def run(command, code=0, **environment):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=600)
    if done.returncode != code:
        raise AssertionError(f"{' '.join(command)}\nexit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout + done.stderr
