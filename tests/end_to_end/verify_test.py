"""`gradus verify` passes on every recorded model of small size, and names the node that is wrong where one is."""

import glob
import json
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from this_build import BUILD, is_sanitized  # noqa: E402

GRADUS = os.path.join(BUILD, "bin", "gradus")
MODELS = os.path.join(ROOT, "tests", "data", "models")
DEPS = os.environ.get("GRADUS_DEPS") or os.path.join(os.path.expanduser("~"), ".cache", "gradus")
PYTHON = os.path.join(DEPS, "onnx-tests", "bin", "python")
OUT = os.path.join(BUILD, "tests", "verify")

# Writes the model once for each of the nodes, but for those of a loop's body: there what the node makes is multiplied
# by a factor, all of it or its last column, by a node of the same name. Prints the nodes, a line each; a file is named
# by the number of its line.
ALTER = """
import sys
import onnx
path, out, part, factor, *names = sys.argv[1:]
graph = onnx.shape_inference.infer_shapes(onnx.load(path)).graph
widths = {value.name: value.type.tensor_type.shape.dim[-1].dim_value for value in [*graph.value_info, *graph.output]
          if value.type.tensor_type.shape.dim}
names = [name for name in names if any(name == node.name for node in onnx.load(path).graph.node)]
for number, name in enumerate(names):
    print(name)
    model = onnx.load(path)
    place, wrong = next((place, node) for place, node in enumerate(model.graph.node) if name == node.name)
    made, wrong.output[0] = wrong.output[0], "altered"
    width = widths[made] if part == "column" else 1
    column = 3 % width  # Behind each Relu of the perceptron some sample has more than zero there.
    factors = [float(factor) if i == column else 1.0 for i in range(width)]
    model.graph.initializer.append(onnx.helper.make_tensor("factor", 1, [width], factors))
    model.graph.node.insert(place + 1, onnx.helper.make_node("Mul", ["altered", "factor"], [made], name=name))
    onnx.save(model, f"{out}/{number}.onnx")
"""

# Puts w + (w - what w is now) in the place of a parameter w: the same values, twice the gradient.
DOUBLE = """
import sys
import onnx
path, out, name = sys.argv[1:]
model = onnx.load(path)
now = next(each for each in model.graph.initializer if each.name == name)
for node in model.graph.node:
    for i, read in enumerate(node.input):
        node.input[i] = "twice" if read == name else read
nodes = [onnx.helper.make_node("Constant", [], ["now"], value=now),
         onnx.helper.make_node("Sub", [name, "now"], ["none"]), onnx.helper.make_node("Add", [name, "none"], ["twice"])]
for place, node in enumerate(nodes):
    model.graph.node.insert(place, node)
onnx.save(model, out)
"""


def described(folder):
    with open(os.path.join(MODELS, folder, "case.json")) as file:
        return json.load(file)


def recipe(case, file):
    """The case's loss as a recipe, with sizes for the symbolic dimensions."""
    loss = {"output": case["output"]["name"], **case["loss"]}
    shapes = {each["name"]: each["shape"] for each in case["inputs"]}
    dims = {name: shapes[each][int(axis)] for each, axes in (file.get("symbolic_dims") or {}).items() for axis, name in axes.items()}
    made = {"loss": loss, "inputs": {"dims": dims}}
    if "trainable_initializers" in file:
        made["trainable"] = file["trainable_initializers"]
    return made


def write_recipe(folder, case, file):
    os.makedirs(OUT, exist_ok=True)
    path = os.path.join(OUT, f"{folder}.{file['file']}.json")
    with open(path, "w") as stream:
        json.dump(recipe(case, file), stream)
    return path


def verify(model, *arguments):
    return subprocess.run([GRADUS, "verify", model, *arguments], capture_output=True, text=True)


@unittest.skipUnless(os.path.exists(GRADUS), "gradus is not built")
class Recorded(unittest.TestCase):
    """Each file of each case with stored weights."""

    def check(self, folder, case, file, settings=()):
        done = verify(os.path.join(MODELS, folder, file["file"]), "--recipe", write_recipe(folder, case, file), *settings)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"\d+ values agree; the largest deviation is")

    @unittest.skipIf(is_sanitized(), "the evaluator is too slow under sanitizers")
    def test_attention_and_steps_of_16_bits(self):
        for folder in ("gpt2-tiny", "bert-tiny", "lstm-tiny"):
            with self.subTest(folder):
                case = described(folder)
                self.check(folder, case, case["files"][0], ["--set", "precision=bf16"])


@unittest.skipUnless(os.path.exists(GRADUS), "gradus is not built")
class BesideAttention(unittest.TestCase):
    """A parameter whose gradient attention reads, too: in bf16, where the parameter's has all its bits."""

    def test_learned_shift(self):
        q, k, v, y, rows = (f"tensor<1x2x{shape}xf32>" for shape in ("130x6", "131x6", "131x4", "130x4", "130"))
        text = "gradus.program @p {\n"
        for name, kind in (("q", q), ("k", k), ("v", v), ("shift", y)):
            text += f"gradus.state @{name} : {kind} {{role = #gradus.role<parameter>, init = #gradus.init<uniform, 1.0 : f64>}}\n"
        text += f"gradus.graph @predict(%x: {y}) -> (y: {y}) {{\n"
        for name, kind in (("q", q), ("k", k), ("v", v)):
            narrow = kind.replace("f32", "bf16")
            text += f"%{name}0 = gradus.read @{name} : {kind}\n%{name}1 = arith.truncf %{name}0 : {kind} to {narrow}\n"
            text += f"%{name} = arith.extf %{name}1 : {narrow} to {kind}\n"
        text += f"%a, %l:2 = gradus.attention %q, %k, %v {{scale = 0.5 : f64}} : ({q}, {k}, {v}) -> ({y}, {rows}, {rows})\n"
        text += f"%s = gradus.read @shift : {y}\n%b = arith.addf %a, %s : {y}\n%c = arith.mulf %b, %x : {y}\n"
        os.makedirs(OUT, exist_ok=True)
        path = os.path.join(OUT, "beside_attention.mlir")
        with open(path, "w") as stream:
            stream.write(text + f"gradus.return %c : {y}\n}}\n}}\n")
        done = verify(path, "--set", "optimizer.type=sgd")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


@unittest.skipUnless(os.path.exists(GRADUS), "gradus is not built")
class OfRanks(unittest.TestCase):
    """A step of several processes, on one."""

    def test_sums_over_ranks(self):
        case = described("mlp")
        chosen = ["--recipe", write_recipe("mlp", case, case["files"][0]), "--set", "distribution.mode=data_parallel"]
        for settings in ([], ["--set", "distribution.reduce=half"], ["--set", "distribution.reduce=bf16", "--set", "loss_scale=dynamic"]):
            with self.subTest(settings):
                done = verify(os.path.join(MODELS, "mlp", "model.onnx"), *chosen, *settings)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


def add(folder, case, file):
    large = is_sanitized() and case["parameters_total"] > 20000

    @unittest.skipIf(large, "the evaluator is too slow for it under sanitizers")
    def test(self):
        self.check(folder, case, file)

    name = re.sub(r"\W", "_", f"{folder}_{os.path.splitext(file['file'])[0]}")
    setattr(Recorded, "test_" + name, test)


for _path in sorted(glob.glob(os.path.join(MODELS, "*", "expected.safetensors"))):
    _folder = os.path.basename(os.path.dirname(_path))
    # What other exporters write of a model the importer's tests have with the sanitizers, too.
    for _file in described(_folder)["files"][: 1 if is_sanitized() else None]:
        add(_folder, described(_folder), _file)


@unittest.skipIf(is_sanitized(), "the evaluator is too slow under sanitizers")
@unittest.skipUnless(os.path.exists(PYTHON), "the onnx package is not there")
class Altered(unittest.TestCase):
    """One node is wrong: the compiled model has it, the model that is evaluated has not."""

    def check(self, folder, fewest, every=1, without="^$", factor=1.0002, part="all", settings=()):
        case = described(folder)
        model, out = os.path.join(MODELS, folder, "model.onnx"), os.path.join(OUT, folder + self.id())
        chosen = [*settings, "--recipe", write_recipe(folder, case, case["files"][0])]
        os.makedirs(out, exist_ok=True)
        right = verify(model, *chosen, "--json")
        self.assertEqual(right.returncode, 0, right.stderr)
        nodes = [name for name in re.findall(r'"node \\"(.*?)\\""', right.stdout) if not re.search(without, name)]
        done = subprocess.run([PYTHON, "-c", ALTER, model, out, part, str(factor), *nodes[::every]], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        altered = done.stdout.splitlines()
        self.assertGreaterEqual(len(altered), fewest)
        for number, name in enumerate(altered):
            with self.subTest(folder=folder, node=name):
                done = verify(os.path.join(out, f"{number}.onnx"), "--reference", model, *chosen)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertIn(f'.onnx: node "{name}" is the first that deviates: by ', done.stderr)

    def test_each_node_of_a_perceptron(self):
        self.check("mlp", 4)

    def test_one_column_of_a_perceptron(self):
        self.check("mlp", 4, part="column")

    def test_nodes_of_16_bits(self):
        self.check("mlp", 4, factor=1.05, settings=["--set", "precision=bf16"])

    def test_nodes_of_a_convolutional_network(self):
        self.check("norm-free-tiny", 10, every=2)

    def test_each_node_of_a_recommender(self):
        self.check("dlrm-tiny", 15)

    def test_nodes_of_a_transformer(self):
        self.check("gpt2-tiny", 5, every=9, without="/attn/Transpose")  # The attention has them inside.

    def test_a_gradient(self):
        case = described("mlp")
        model, out = os.path.join(MODELS, "mlp", "model.onnx"), os.path.join(OUT, "doubled.onnx")
        chosen = write_recipe("mlp", case, case["files"][0])
        subprocess.run([PYTHON, "-c", DOUBLE, model, out, "3.weight"], check=True)
        done = verify(out, "--reference", model, "--recipe", chosen)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"the gradient of 3\.weight is the first that deviates: by 1 of its largest element, "
                                      r"where \S+ is allowed \(1 of \d+ values")


if __name__ == "__main__":
    unittest.main()
