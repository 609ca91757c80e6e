"""docs/examples/foof, made with an installed Gradus, trains as a model of the rule in f64 does."""

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
from pages import DIGITS, ROOT, check_consoles

FOOF = MadeExample("foof")
WORK, PLUGIN, run, tool = FOOF.work, FOOF.plugin, FOOF.run, FOOF.tool
ROWS, RATE, BLOCK, DECAY, EVERY, MEASURE, DAMPING = 6, 0.05, 3, 0.8, 4, 2, 0.2

# A convolution, whose rows are patches, and dense weights of both orientations; the table keeps its gradient.
WEIGHTS = {"conv.weight": (3, 2, 2, 2), "conv.bias": (3,), "hidden.weight": (12, 5), "out.weight": (4, 5), "table": (2, 4)}
NET = """gradus.program @net {
  gradus.state @"conv.weight" : tensor<3x2x2x2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"conv.bias" : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"hidden.weight" : tensor<12x5xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @"out.weight" : tensor<4x5xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @table : tensor<2x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%image: tensor<Bx2x3x3xf32>, %id: tensor<Bxi64>) -> (y: tensor<Bx4xf32>) {
    %w = gradus.read @"conv.weight" : tensor<3x2x2x2xf32>
    %bias = gradus.read @"conv.bias" : tensor<3xf32>
    %c = gradus.convolution %image, %w strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1]
      : tensor<Bx2x3x3xf32>, tensor<3x2x2x2xf32> -> tensor<Bx3x2x2xf32>
    %wide = gradus.broadcast %bias dims [1] : tensor<3xf32> -> tensor<Bx3x2x2xf32>
    %moved = arith.addf %c, %wide : tensor<Bx3x2x2xf32>
    %bent = math.tanh %moved : tensor<Bx3x2x2xf32>
    %flat = gradus.reshape %bent : tensor<Bx3x2x2xf32> -> tensor<Bx12xf32>
    %v = gradus.read @"hidden.weight" : tensor<12x5xf32>
    %h = gradus.matmul %flat, %v : tensor<Bx12xf32>, tensor<12x5xf32> -> tensor<Bx5xf32>
    %t = math.tanh %h : tensor<Bx5xf32>
    %u = gradus.read @"out.weight" : tensor<4x5xf32>
    %o = gradus.matmul %t, %u transposed : tensor<Bx5xf32>, tensor<4x5xf32> -> tensor<Bx4xf32>
    %table = gradus.read @table : tensor<2x4xf32>
    %row = gradus.gather %table at %id axis 0 : tensor<2x4xf32>, tensor<Bxi64> -> tensor<Bx4xf32>
    %y = arith.addf %o, %row : tensor<Bx4xf32>
    gradus.return %y : tensor<Bx4xf32>
  }
}
"""


def write_json(name, value):
    with open(os.path.join(WORK, name), "w") as file:
        json.dump(value, file)


def write_tensors(name, tensors):
    """{name: (type, shape, numbers)} as a .safetensors file."""
    texts = [f"{key}:{kind}:{','.join(map(str, shape))}:{','.join(map(repr, numbers))}" for key, (kind, shape, numbers) in tensors.items()]
    run(sys.executable, os.path.join(ROOT, "tests", "end_to_end", "write_tensors.py"), name, *texts)


def read_tensors(name):
    """The bytes of each tensor of a .safetensors file."""
    with open(os.path.join(WORK, name), "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__", None)
    return {key: data[slice(*value["data_offsets"])] for key, value in header.items()}


def floats(data):
    return struct.unpack(f"<{len(data) // 4}f", data)


#===-- the rule, in f64 ------------------------------------------------------===#


def inverse(matrix):
    """By the elimination of Gauss and Jordan."""
    size = len(matrix)
    rows = [[*row, *(float(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(size):
            if k != i:
                rows[k] = [x - rows[k][i] * y for x, y in zip(rows[k], rows[i])]
    return [row[size:] for row in rows]


class Layer:
    """A weight [outputs][inputs] with what the rule keeps for it."""

    def __init__(self, weight):
        self.weight, self.count, size = weight, 0, len(weight[0])
        self.mean = [[0.0] * size for _ in range(size)]
        self.inverse = None

    def step(self, rows, gradients, update):
        """Of the inputs of each row, and the loss's gradients by its outputs."""
        size = len(self.weight[0])
        if update % EVERY == 0 or update % MEASURE == 0:
            self.count += 1
            share = (1 - DECAY) / (1 - DECAY**self.count)
            for i in range(size):
                for j in range(size):
                    moment = sum(row[i] * row[j] for row in rows) / len(rows)
                    self.mean[i][j] += share * (moment - self.mean[i][j])
        if update % EVERY == 0:
            self.inverse = [[0.0] * size for _ in range(size)]
            for first in range(0, size, BLOCK):
                block = range(first, min(first + BLOCK, size))
                damped = inverse([[self.mean[i][j] + DAMPING * (i == j) for j in block] for i in block])
                for i in block:
                    for j in block:
                        self.inverse[i][j] = damped[i - first][j - first]
        for o, weights in enumerate(self.weight):
            g = [sum(d[o] * row[i] for row, d in zip(rows, gradients)) for i in range(size)]
            for j in range(size):
                weights[j] -= RATE * sum(g[i] * self.inverse[i][j] for i in range(size))


class Net:
    """The same network, sample by sample."""

    def __init__(self, start):
        conv, hidden, out = start["conv.weight"], start["hidden.weight"], start["out.weight"]
        self.conv = Layer([list(conv[8 * o:8 * o + 8]) for o in range(3)])
        self.hidden = Layer([[hidden[5 * i + o] for i in range(12)] for o in range(5)])
        self.out = Layer([list(out[5 * o:5 * o + 5]) for o in range(4)])
        self.bias, self.table = list(start["conv.bias"]), [list(start["table"][4 * i:4 * i + 4]) for i in range(2)]

    def step(self, images, ids, targets, update):
        seen, back = ([], [], []), ([], [], [])
        bias, table = [0.0] * 3, [[0.0] * 4 for _ in range(2)]
        for image, index, target in zip(images, ids, targets):
            places = [(y, x) for y in range(2) for x in range(2)]
            patches = [[image[9 * c + 3 * (y + j) + x + i] for c in range(2) for j in range(2) for i in range(2)] for y, x in places]
            flat = [math.tanh(dot(w, patch) + b) for w, b in zip(self.conv.weight, self.bias) for patch in patches]
            hidden = [math.tanh(dot(w, flat)) for w in self.hidden.weight]
            found = [dot(w, hidden) + t for w, t in zip(self.out.weight, self.table[index])]
            d_out = [2 * (f - t) / (4 * ROWS) for f, t in zip(found, target)]
            d_hidden = [(1 - h * h) * sum(d * w[i] for d, w in zip(d_out, self.out.weight)) for i, h in enumerate(hidden)]
            d_flat = [(1 - f * f) * sum(d * w[i] for d, w in zip(d_hidden, self.hidden.weight)) for i, f in enumerate(flat)]
            d_places = [[d_flat[4 * o + place] for o in range(3)] for place in range(4)]
            for part, (rows, gradients) in enumerate(((patches, d_places), ([flat], [d_hidden]), ([hidden], [d_out]))):
                seen[part].extend(rows)
                back[part].extend(gradients)
            bias = [b + sum(d[o] for d in d_places) for o, b in enumerate(bias)]
            table[index] = [t + d for t, d in zip(table[index], d_out)]
        for layer, rows, gradients in zip((self.conv, self.hidden, self.out), seen, back):
            layer.step(rows, gradients, update)
        self.bias = [b - RATE * g for b, g in zip(self.bias, bias)]
        self.table = [[t - RATE * g for t, g in zip(*both)] for both in zip(self.table, table)]

    def weights(self):
        flat = lambda rows: [x for row in rows for x in row]
        return {"conv.weight": flat(self.conv.weight), "conv.bias": self.bias, "hidden.weight": flat(zip(*self.hidden.weight)),
                "out.weight": flat(self.out.weight), "table": flat(self.table)}


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


class Foof(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        FOOF.make()
        draw = random.Random(5)
        numbers = lambda shape: [draw.uniform(-1, 1) for _ in range(math.prod(shape))]
        # As f32 has them, for both.
        rounded = lambda values: list(struct.unpack(f"{len(values)}f", struct.pack(f"{len(values)}f", *values)))
        cls.start = {name: rounded(numbers(shape)) for name, shape in WEIGHTS.items()}
        cls.images, cls.targets = rounded(numbers((ROWS, 18))), rounded(numbers((ROWS, 4)))
        cls.ids = [0, 1, 1, 0, 1, 1]
        write_tensors("start.safetensors", {name: ("f32", shape, cls.start[name]) for name, shape in WEIGHTS.items()})
        write_tensors("data.safetensors", {"image": ("f32", (ROWS, 2, 3, 3), cls.images), "id": ("i64", (ROWS,), cls.ids),
                                           "label": ("f32", (ROWS, 4), cls.targets)})

    def compile_net(self, name, batch=ROWS, keys={}, foof={}):
        with open(os.path.join(WORK, f"{name}.mlir"), "w") as file:
            file.write(NET.replace("tensor<B", f"tensor<{batch}"))
        settings = {"damping": DAMPING, "block": BLOCK, "decay": DECAY, "refresh": {"every": EVERY, "measure_every": MEASURE}}
        write_json(f"{name}.json", {"loss": {"type": "mse"}, "optimizer": {"type": "sgd", "learning_rate": RATE},
                                    "plugins": {"foof": {**settings, **foof}}, **keys})
        tool("gradus", "compile", f"{name}.mlir", "--recipe", f"{name}.json", "-o", f"{name}.gradus", "--plugin", PLUGIN)

    def train(self, name, steps, *more, data="data.safetensors"):
        """The states after some steps."""
        more = more or ("--init", "start.safetensors", "--overwrite")
        tool("gradus", "train", f"{name}.gradus", "--data", data, "--steps", str(steps), "--checkpoint", f"{name}.checkpoint", *more)
        return read_tensors(f"{name}.checkpoint")

    def expected(self, updates):
        """The model's weights after each of some updates, and the inverses of the last."""
        net, images = Net(self.start), [self.images[18 * i:18 * i + 18] for i in range(ROWS)]
        targets, after = [self.targets[4 * i:4 * i + 4] for i in range(ROWS)], []
        for update in range(updates):
            net.step(images, self.ids, targets, update)
            after.append(net.weights())
        return after, net

    def check(self, found, expected):
        for name, numbers in expected.items():
            for place, (one, other) in enumerate(zip(floats(found[name]), numbers, strict=True)):
                self.assertAlmostEqual(one, other, delta=2e-6 * (1 + abs(other)), msg=f"{name}[{place}]")

    def test_weights_are_those_of_the_rule(self):
        self.compile_net("plain")
        after, net = self.expected(10)
        # The rule moves them by far more than the tolerance.
        self.assertGreater(max(abs(a - b) for a, b in zip(after[9]["out.weight"], after[8]["out.weight"])), 1e-3)
        for steps in (1, 2, 3, 4, 5, 6, 9, 10):
            found = self.train("plain", steps)
            with self.subTest(steps=steps):
                self.check(found, after[steps - 1])
        # Blocks of 3 of the 5 inputs: the last has 1 of padding.
        blocks = [[net.out.inverse[3 * n + i][3 * n + j] if max(3 * n + i, 3 * n + j) < 5 else float(i == j)
                   for i in range(3) for j in range(3)] for n in range(2)]
        self.check(found, {"foof/inverse/out.weight": [x for block in blocks for x in block]})
        self.assertEqual(struct.unpack("<q", found["foof/measured/out.weight"]), (5,))

    def test_an_update_may_be_of_several_batches(self):
        self.compile_net("parts", batch=ROWS // 2, keys={"accumulation": 2})
        after, _ = self.expected(6)
        for updates in (1, 4, 5, 6):
            with self.subTest(updates=updates):
                self.check(self.train("parts", 2 * updates), after[updates - 1])

    def test_a_loss_scale_changes_nothing(self):
        self.compile_net("scaled", keys={"loss_scale": {"type": "static", "initial": 4096}})
        after, _ = self.expected(6)
        self.check(self.train("scaled", 6), after[5])

    def test_a_step_that_overflows_is_made_again(self):
        """The scale is too large for the first steps: none of these measures or inverts."""
        # The sum over 24 elements has larger gradients than their mean, and a smaller rate makes the same steps of them.
        self.compile_net("skipping", keys={"loss": {"type": "mse", "reduction": "sum"},
                                           "optimizer": {"type": "sgd", "learning_rate": RATE / 24},
                                           "loss_scale": {"type": "dynamic", "initial": 2.0**127, "factor": 16}})
        steps = 9
        found = self.train("skipping", steps)
        made, = struct.unpack("<q", found["accepted_steps"])
        self.assertTrue(4 < made < steps, made)
        after, net = self.expected(made)
        self.check(found, after[-1])
        self.assertEqual(struct.unpack("<q", found["foof/measured/out.weight"]), (net.out.count,))

    def test_a_run_goes_on_to_the_bit_from_each_step(self):
        self.compile_net("resumed")
        whole = self.train("resumed", 9)
        for steps in range(1, 9):
            self.train("resumed", steps)
            with self.subTest(steps=steps):
                self.assertEqual(self.train("resumed", 9, "--resume", "resumed.checkpoint"), whole)

    def test_the_step_has_three_forms(self):
        self.compile_net("forms")
        told = tool("gradus", "inspect", "forms.gradus")
        for name in ("train", "train_refresh", "train_measure"):
            self.assertRegex(told, rf"(?m)^ *{name} ")
        self.assertIn('plug-in key foof {"', told)
        self.compile_net("each", foof={"refresh": {"every": 1}})
        told = tool("gradus", "inspect", "each.gradus")
        self.assertNotIn("train_refresh", told)

    def test_mistakes_are_refused_in_words(self):
        def told(foof, keys={}, net=NET):
            with open(os.path.join(WORK, "wrong.mlir"), "w") as file:
                file.write(net.replace("tensor<B", "tensor<6"))
            write_json("wrong.json", {"loss": {"type": "mse"}, "optimizer": {"type": "sgd", "learning_rate": RATE}, **keys,
                                      "plugins": {"foof": foof}})
            return tool("gradus", "compile", "wrong.mlir", "--recipe", "wrong.json", "-o", "wrong.gradus", "--plugin", PLUGIN, status=2)

        self.assertIn("plugins.foof excludes precondition, which inverts A and more", told({}, {"precondition": "kfac"}))
        self.assertIn("plugins.foof.refresh.measure_every is for a mean over time, and decay is 0",
                      told({"decay": 0, "refresh": {"measure_every": 5}}))
        self.assertIn("plugins.foof.refresh.spread is 8, more than the updates from one refresh to the next",
                      told({"refresh": {"every": 4, "spread": 8}}))
        self.assertIn("plugins.foof excludes distribution.logical_ranks",
                      told({}, {"deterministic": True, "distribution": {"mode": "data_parallel", "logical_ranks": 2}}))
        self.assertIn('plugins.foof.dampin: unknown key; did you mean "damping"?', told({"dampin": 1}))
        self.assertIn("plugins.foof.block: expected", told({"block": 1024}))
        table = """gradus.program @table {
  gradus.state @table : tensor<2x4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%id: tensor<Bxi64>) -> (y: tensor<Bx4xf32>) {
    %table = gradus.read @table : tensor<2x4xf32>
    %y = gradus.gather %table at %id axis 0 : tensor<2x4xf32>, tensor<Bxi64> -> tensor<Bx4xf32>
    gradus.return %y : tensor<Bx4xf32>
  }
}
"""
        self.assertIn("plugins.foof fits no layer that is trained: the inputs of its layer are indices", told({}, net=table))
        self.assertFalse(os.path.exists(os.path.join(WORK, "wrong.gradus")))

    def test_a_key_changes_nothing_where_it_is_off(self):
        model = os.path.join(DIGITS, "lenet.onnx")
        recipe = ("--recipe", os.path.join(DIGITS, "recipe.json"))
        for name, options in (("without", ()), ("off", ("--plugin", PLUGIN))):
            tool("gradus", "compile", model, *recipe, "-o", f"{name}.gradus", *options)
            tool("gradus", "train", f"{name}.gradus", "--data", os.path.join(DIGITS, "train.safetensors"), "--steps", "3",
                 "--checkpoint", f"{name}.checkpoint")
        self.assertEqual(read_tensors("without.checkpoint"), read_tensors("off.checkpoint"))

    def test_the_commands_of_the_page_run(self):
        folder = os.path.join(WORK, "page")
        shutil.copytree(DIGITS, folder)
        shutil.copy(PLUGIN, folder)
        check_consoles(self, "docs/add_a_second_order_method.md", folder, any_figures=True)
        self.assertTrue(os.path.exists(os.path.join(folder, "foof.gradus")))


if __name__ == "__main__":
    unittest.main()
