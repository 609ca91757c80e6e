"""docs/examples/powersgd, made with an installed Gradus, trains two ranks as a model of the rule in f64 does."""

import itertools
import json
import math
import os
import random
import shutil
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from made_example import MadeExample
from pages import ROOT

# Open MPI keeps memory until a process ends, which sanitizers would find.
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
POWERSGD = MadeExample("powersgd", **MPI)
WORK, TREE, PLUGIN, run = POWERSGD.work, POWERSGD.tree, POWERSGD.plugin, POWERSGD.run
SAMPLES, INPUTS, OUTPUTS, RATE = 6, 5, 4, 0.2
HALF = SAMPLES // 2  # a rank's batch: each step is all samples, in an order that is drawn
WEIGHT, BIAS, BASIS, KEPT = "w", "b", "powersgd/q/w", "kept/powersgd/w"
NET = """gradus.program @net {
  gradus.state @w : tensor<4x5xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @b : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%x: tensor<3x5xf32>) -> (y: tensor<3x4xf32>) {
    %w = gradus.read @w : tensor<4x5xf32>
    %b = gradus.read @b : tensor<4xf32>
    %o = gradus.matmul %x, %w transposed : tensor<3x5xf32>, tensor<4x5xf32> -> tensor<3x4xf32>
    %wide = gradus.broadcast %b dims [1] : tensor<4xf32> -> tensor<3x4xf32>
    %y = arith.addf %o, %wide : tensor<3x4xf32>
    gradus.return %y : tensor<3x4xf32>
  }
}
"""


def gradus(*arguments, status=0):
    return POWERSGD.tool("gradus", *arguments, status=status)


def write_tensors(name, tensors):
    """{name: (shape, numbers)} as a .safetensors file of f32."""
    texts = [f"{key}:f32:{','.join(map(str, shape))}:{','.join(map(repr, numbers))}" for key, (shape, numbers) in tensors.items()]
    run(sys.executable, os.path.join(ROOT, "tests", "end_to_end", "write_tensors.py"), name, *texts)


def read_bytes(name):
    with open(os.path.join(WORK, name), "rb") as file:
        return file.read()


def read_matrices(name):
    """The f32 tensors of a .safetensors file, as rows; a vector is a row."""
    data = read_bytes(name)
    (size,) = struct.unpack_from("<Q", data)
    matrices = {}
    for key, value in json.loads(data[8:8 + size]).items():
        if key != "__metadata__" and value["dtype"] == "F32":
            begin, end = value["data_offsets"]
            numbers = struct.unpack(f"<{(end - begin) // 4}f", data[8 + size + begin:8 + size + end])
            columns = (value["shape"] or [1])[-1]
            matrices[key] = [list(numbers[i:i + columns]) for i in range(0, len(numbers), columns)]
    return matrices


#===-- the rule, in f64 ------------------------------------------------------===#


def product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def turned(a):
    return [list(column) for column in zip(*a)]


def combined(a, b, factor):
    """a + factor b"""
    return [[x + factor * y for x, y in zip(*rows)] for rows in zip(a, b)]


def mean(matrices):
    return [[sum(each) / len(each) for each in zip(*rows)] for rows in zip(*matrices)]


def orthonormal(matrix):
    columns = []
    for column in turned(matrix):
        for other in columns:
            part = sum(x * y for x, y in zip(other, column))
            column = [x - part * y for x, y in zip(column, other)]
        norm = math.sqrt(sum(x * x for x in column))
        columns.append([x / norm for x in column])
    return turned(columns)


def gradients(weight, bias, samples):
    """Of the mean of squares of some samples, by weight and bias."""
    scale, ofWeight, ofBias = 2 / (len(samples) * OUTPUTS), [[0.0] * INPUTS for _ in range(OUTPUTS)], [0.0] * OUTPUTS
    for x, target in samples:
        for i, row in enumerate(weight):
            error = scale * (sum(a * b for a, b in zip(row, x)) + bias[i] - target[i])
            ofBias[i] += error
            ofWeight[i] = [a + error * b for a, b in zip(ofWeight[i], x)]
    return ofWeight, ofBias


class Rule:
    """What two ranks have."""

    def __init__(self, states):
        self.weight, (self.bias,), self.basis = states[WEIGHT], states[BIAS], states[BASIS]
        self.kept = [states[KEPT], states[f"ranks/1/{KEPT}"]]

    def after(self, parts):
        """The states after a step in which each rank has a part of the samples."""
        both = [gradients(self.weight, self.bias, part) for part in parts]
        pending = [combined(kept, own, 1) for kept, (own, _) in zip(self.kept, both)]
        left = orthonormal(mean([product(each, self.basis) for each in pending]))
        rights = [product(turned(each), left) for each in pending]
        basis, kept = mean(rights), [combined(each, product(left, turned(right)), -1) for each, right in zip(pending, rights)]
        (bias,) = mean([[own] for _, own in both])
        return {WEIGHT: combined(self.weight, product(left, turned(basis)), -RATE), BIAS: combined([self.bias], [bias], -RATE),
                BASIS: basis, KEPT: kept[0], f"ranks/1/{KEPT}": kept[1]}


def distance(found, wanted):
    """The largest difference of states, beside 1 or what they are."""
    return max(abs(a - b) / (1 + abs(b)) for name in wanted
               for rows in zip(found[name], wanted[name], strict=True) for a, b in zip(*rows, strict=True))


class PowerSgd(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        POWERSGD.make()
        draw = random.Random(11)
        # As f32 has them, for both.
        numbers = lambda count: list(struct.unpack(f"{count}f", struct.pack(f"{count}f", *(draw.uniform(-1, 1) for _ in range(count)))))
        rows = lambda columns: [numbers(columns) for _ in range(SAMPLES)]
        inputs, targets = rows(INPUTS), rows(OUTPUTS)
        cls.samples = list(zip(inputs, targets))
        write_tensors("start.safetensors", {WEIGHT: ((OUTPUTS, INPUTS), numbers(OUTPUTS * INPUTS)), BIAS: ((OUTPUTS,), numbers(OUTPUTS))})
        write_tensors("data.safetensors", {"x": ((SAMPLES, INPUTS), sum(inputs, [])), "label": ((SAMPLES, OUTPUTS), sum(targets, []))})
        cls.start = read_matrices("start.safetensors")

    def compile_net(self, name, powersgd, status=0, **keys):
        with open(os.path.join(WORK, "net.mlir"), "w") as file:
            file.write(NET)
        with open(os.path.join(WORK, f"{name}.json"), "w") as file:
            json.dump({"loss": {"type": "mse"}, "optimizer": {"type": "sgd", "learning_rate": RATE},
                       "distribution": {"mode": "data_parallel"}, "plugins": {"powersgd": powersgd}, **keys}, file)
        return gradus("compile", "net.mlir", "--recipe", f"{name}.json", "-o", f"{name}.gradus", "--plugin", PLUGIN, status=status)

    def train(self, name, steps, *more, ranks="--simulate-ranks", begin=("--init", "start.safetensors", "--overwrite")):
        gradus("train", f"{name}.gradus", "--data", "data.safetensors", "--steps", str(steps), "--checkpoint", f"{name}.checkpoint",
               *begin, ranks, "2", *more)
        return read_matrices(f"{name}.checkpoint")

    def test_ranks_train_by_the_rule(self):
        for rank in (1, 2):
            name = f"rank{rank}"
            self.compile_net(name, {"rank": rank, "saving": 0})
            states = self.train(name, 1)  # which has the basis that was drawn, after a step
            for steps in range(2, 8):
                rule, found = Rule(states), self.train(name, steps)
                parts = [(own, [each for each in self.samples if each not in own])
                         for own in map(list, itertools.combinations(self.samples, HALF))]
                wanted = min((rule.after(each) for each in parts), key=lambda each: distance(found, each))
                with self.subTest(rank=rank, steps=steps):
                    self.assertLess(distance(found, wanted), 1e-5)
                    # What waits is far more than the tolerance.
                    self.assertGreater(max(abs(x) for row in found[KEPT] for x in row), 1e-3)
                states = found

    def test_a_full_rank_gives_the_mean(self):
        self.compile_net("full", {"rank": 32, "saving": 0})
        weight, (bias,) = self.start[WEIGHT], self.start[BIAS]
        for steps in range(1, 7):
            ofWeight, ofBias = gradients(weight, bias, self.samples)
            weight, (bias,) = combined(weight, ofWeight, -RATE), combined([bias], [ofBias], -RATE)
            found = self.train("full", steps)
            with self.subTest(steps=steps):
                nothing = [[0.0] * INPUTS] * OUTPUTS
                self.assertLess(distance(found, {WEIGHT: weight, BIAS: [bias], KEPT: nothing, f"ranks/1/{KEPT}": nothing}), 1e-5)

    def test_a_run_goes_on_and_processes_have_the_bits_of_threads(self):
        self.compile_net("bits", {"rank": 1, "saving": 0})
        self.train("bits", 6, "--check-replicas", "1")
        whole = read_bytes("bits.checkpoint")
        self.train("bits", 3)
        self.train("bits", 6, begin=("--resume", "bits.checkpoint"))
        self.assertTrue(read_bytes("bits.checkpoint") == whole)
        if shutil.which("mpirun") and os.path.exists(os.path.join(TREE, "lib", "libgradus_mpi.so")):
            self.train("bits", 6, ranks="--ranks")
            self.assertTrue(read_bytes("bits.checkpoint") == whole)

    def test_a_step_of_zeros_leaves_the_basis(self):
        """All targets are met: the gradient is 0, and a basis of zeros would stay so for ever."""
        self.compile_net("still", {"rank": 2, "saving": 0})
        write_tensors("met.safetensors", {"x": ((SAMPLES, INPUTS), [0.0]), "label": ((SAMPLES, OUTPUTS), [0.0])})
        write_tensors("zeros.safetensors", {WEIGHT: ((OUTPUTS, INPUTS), [0.0]), BIAS: ((OUTPUTS,), [0.0])})
        gradus("train", "still.gradus", "--data", "met.safetensors", "--steps", "2", "--checkpoint", "still.checkpoint",
               "--init", "zeros.safetensors", "--overwrite", "--simulate-ranks", "2")
        found = read_matrices("still.checkpoint")
        self.assertGreater(max(abs(x) for row in found[BASIS] for x in row), 0.1)
        self.assertEqual(found[WEIGHT], [[0.0] * INPUTS] * OUTPUTS)

    def test_small_matrices_travel_whole(self):
        self.compile_net("whole", {})
        self.assertNotIn(BASIS, gradus("inspect", "whole.gradus", "--states"))

    def test_mistakes_are_refused_in_words(self):
        words = 'plugins.powersgd needs reduce "plain" without logical_ranks and clip'
        for keys in ({"reduce": "half"}, {"local_clip": 1.0}):
            said = self.compile_net("wrong", {}, status=2, distribution={"mode": "data_parallel", **keys})
            self.assertIn(words, said)
        self.assertIn("plugins.powersgd.rank: expected", self.compile_net("wrong", {"rank": 0}, status=2))


if __name__ == "__main__":
    unittest.main()
