"""Exported models compute in ONNX Runtime what they compute in Gradus, and are otherwise the files that they were."""

import json
import os
import subprocess
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(ROOT, "build"))
GRADUS = os.path.join(BUILD, "bin", "gradus")
DEPS = os.environ.get("GRADUS_DEPS") or os.path.join(os.path.expanduser("~"), ".cache", "gradus")
PYTHON = os.path.join(DEPS, "onnx-tests", "bin", "python")
DIGITS = os.path.join(ROOT, "docs", "examples", "digits")
MODELS = os.path.join(ROOT, "tests", "data", "models")
OUT = os.path.join(BUILD, "tests", "export")

READ = """
import json, struct, sys
import numpy
types = {"F32": "float32", "F64": "float64", "I64": "int64", "I32": "int32", "U8": "uint8"}
def read(path):
    content = open(path, "rb").read()
    start = 8 + struct.unpack("<Q", content[:8])[0]
    return {name: numpy.frombuffer(content[start + entry["data_offsets"][0]:start + entry["data_offsets"][1]],
                                   types[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in json.loads(content[8:start]).items() if name != "__metadata__"}
"""

COMPARE = READ + """
import onnxruntime
model, data, outputs = sys.argv[1:]
session = onnxruntime.InferenceSession(model)
image = read(data)["image"][:32]
image = (image.astype("float32") / 255 if image.dtype == "uint8" else image).reshape(32, 1, 28, 28)
found, expected = session.run(None, {"image": image})[0], read(outputs)["logits"][:32]
numpy.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
"""

# The batches of a recorded case one after another, as a data set.
JOIN = READ + """
source, target = sys.argv[1:]
tensors, joined = read(source), {}
for name in tensors:
    kind, rest = name.split(".", 1)
    joined.setdefault("label" if kind == "labels" else rest.rsplit(".", 1)[0], []).append(tensors[name])
header, body = {}, b""
for name, parts in joined.items():
    whole = numpy.concatenate(parts)
    dtype = next(key for key in types if types[key] == whole.dtype.name)
    header[name] = {"dtype": dtype, "shape": whole.shape, "data_offsets": [len(body), len(body) + whole.nbytes]}
    body += whole.tobytes()
text = json.dumps(header).encode()
open(target, "wb").write(struct.pack("<Q", len(text)) + text + body)
"""

# Predictions of the exported file are those of Gradus, for `batch` samples.
PREDICTS = READ + """
import onnxruntime
model, data, outputs, name, batch = sys.argv[1:]
onnxruntime.set_default_logger_severity(3)
session, tensors = onnxruntime.InferenceSession(model), read(data)
found = session.run([name], {each.name: tensors[each.name][:int(batch)] for each in session.get_inputs()})[0]
expected = read(outputs)[name][:int(batch)]
numpy.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * max(1, abs(expected).max()))
"""

# An exported program is a sound file and predicts what Gradus does.
PROGRAM = READ + """
import onnx, onnxruntime
model, data, outputs, name, batch = sys.argv[1:]
onnx.checker.check_model(model, full_check=True)
onnxruntime.set_default_logger_severity(3)
session, tensors = onnxruntime.InferenceSession(model), read(data)
found = session.run([name], {each.name: tensors[each.name][:int(batch)] for each in session.get_inputs()})[0]
expected = read(outputs)[name][:int(batch)]
numpy.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * abs(expected).max())
"""

# What was trained has the checkpoint's bytes, and nothing else is other than it was, but for `changes` in nodes.
SAME = READ + """
import onnx
before, after, checkpoint, changes = onnx.load(sys.argv[1]), onnx.load(sys.argv[2]), read(sys.argv[3]), int(sys.argv[4])
onnx.checker.check_model(sys.argv[2])
values = [{each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer} for model in (before, after)]
assert list(values[0]) == list(values[1]), "the initializers are others"
trained = 0
for name, old in values[0].items():
    new, state = values[1][name], checkpoint.get(name)
    expected = old if state is None or state.shape != old.shape else state
    assert new.dtype == old.dtype and new.tobytes() == expected.tobytes(), name
    trained += new.tobytes() != old.tobytes()
assert trained > 3, f"only {trained} initializers have new values"
different = [a.name for a, b in zip(before.graph.node, after.graph.node, strict=True) if a != b]
assert len(different) == changes, f"{len(different)} nodes are others: {different[:3]}"
for model in (before, after):
    del model.graph.initializer[:], model.graph.node[:]
if not changes:
    assert before == after, "what is not a weight is other than it was"
assert list(before.opset_import) == list(after.opset_import) and list(before.graph.input) == list(after.graph.input)
"""

# Runs each script that a line names with its arguments, in a process that has the packages already: they take longer to
# load than any of the scripts takes to run.
SCRIPTS = """
import json, sys, traceback
import numpy, onnx, onnxruntime
for line in sys.stdin:
    script, *sys.argv[1:] = json.loads(line)
    try:
        exec(script, {})
        print(json.dumps(""), flush=True)
    except BaseException:
        print(json.dumps(traceback.format_exc()), flush=True)
"""


@unittest.skipUnless(os.path.exists(PYTHON), "ONNX Runtime is not there")
class Export(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.makedirs(OUT, exist_ok=True)
        cls.scripts = subprocess.Popen([PYTHON, "-c", SCRIPTS], cwd=OUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    @classmethod
    def tearDownClass(cls):
        cls.scripts.communicate()

    def script(self, *script_and_arguments):
        self.scripts.stdin.write(json.dumps(script_and_arguments) + "\n")
        self.scripts.stdin.flush()
        self.assertEqual(json.loads(self.scripts.stdout.readline()), "")

    def run_in(self, *command):
        done = subprocess.run(command, cwd=OUT, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_trained_model_computes_the_same_in_onnx_runtime(self):
        lenet, test = os.path.join(DIGITS, "lenet.onnx"), os.path.join(DIGITS, "test.safetensors")
        self.run_in(GRADUS, "compile", lenet, "--recipe", os.path.join(DIGITS, "recipe.json"), "-o", "lenet.gradus")
        self.run_in(GRADUS, "train", "lenet.gradus", "--data", os.path.join(DIGITS, "train.safetensors"), "--epochs", "1",
                    "--checkpoint", "lenet.safetensors", "--overwrite")
        self.run_in(GRADUS, "predict", "lenet.gradus", "--checkpoint", "lenet.safetensors", "--data", test, "-o", "out.safetensors")
        self.run_in(GRADUS, "export", lenet, "--checkpoint", "lenet.safetensors", "-o", "trained.onnx")
        self.script(COMPARE, "trained.onnx", test, "out.safetensors")

    def test_a_model_that_normalizes_by_itself_takes_what_predict_takes(self):
        lenet, test = os.path.join(DIGITS, "lenet.onnx"), os.path.join(DIGITS, "test.safetensors")
        self.run_in(GRADUS, "compile", lenet, "--recipe", os.path.join(DIGITS, "recipe.json"), "-o", "normal.gradus",
                    "--set", 'inputs.normalize={"image": {"mean": [0.1307], "std": [0.3081]}}')
        self.run_in(GRADUS, "train", "normal.gradus", "--data", os.path.join(DIGITS, "train.safetensors"), "--epochs", "1",
                    "--checkpoint", "normal.safetensors", "--overwrite")
        self.run_in(GRADUS, "predict", "normal.gradus", "--checkpoint", "normal.safetensors", "--data", test, "-o", "normal.out.safetensors")
        self.run_in(GRADUS, "export", lenet, "--checkpoint", "normal.safetensors", "--inference", "--with-normalization", "-o", "normal.onnx")
        self.script(COMPARE, "normal.onnx", test, "normal.out.safetensors")

    def check_case(self, folder, file, *flags, changes=0, batch=None, predicts=True):
        """Trains a file of a recorded case a few steps and takes it back into the file."""
        with open(os.path.join(MODELS, folder, "case.json")) as stream:
            case = json.load(stream)
        name = f"{folder}.{os.path.splitext(file)[0]}" + "".join(flags)
        data, artifact, checkpoint, out, model = (name + ending for ending in (
            ".data.safetensors", ".gradus", ".checkpoint.safetensors", ".out.safetensors", ".onnx"))
        original = os.path.join(MODELS, folder, file)
        self.script(JOIN, os.path.join(MODELS, folder, "data.safetensors"), data)
        self.run_in(GRADUS, "compile", original, "--recipe", self.recipe(case, file, name), "-o", artifact)
        self.run_in(GRADUS, "train", artifact, "--data", data, "--steps", "3", "--checkpoint", checkpoint, "--overwrite")
        self.run_in(GRADUS, "predict", artifact, "--checkpoint", checkpoint, "--data", data, "-o", out)
        self.run_in(GRADUS, "export", original, "--checkpoint", checkpoint, *flags, "-o", model)
        self.script(SAME, original, model, checkpoint, str(changes))
        if predicts:
            batch = batch or case["inputs"][0]["shape"][0]
            self.script(PREDICTS, model, data, out, case["output"]["name"], str(batch))

    def check_program(self, folder, *methods, files=("model.onnx", "model_dynamo.onnx"), ema=False, predicts=None):
        """Trains files, of both exporters, and writes what was trained from their artifacts. The one with the flags
        `predicts` predicts, if given, in place of the trained one."""
        with open(os.path.join(MODELS, folder, "case.json")) as stream:
            case = json.load(stream)
        for file in files:
            name = ".".join([folder, file[:-5], "program", *(method.strip("-").replace("=", "_") for method in methods)])
            data, artifact, checkpoint, out, model = (name + ending for ending in (
                ".data.safetensors", ".gradus", ".checkpoint.safetensors", ".out.safetensors", ".onnx"))
            averaged = ["--ema"] if ema else []
            self.script(JOIN, os.path.join(MODELS, folder, "data.safetensors"), data)
            self.run_in(GRADUS, "compile", os.path.join(MODELS, folder, file), "--recipe", self.recipe(case, file, name), *methods,
                        "-o", artifact)
            self.run_in(GRADUS, "train", artifact, "--data", data, "--steps", "3", "--checkpoint", checkpoint, "--overwrite")
            predictor = artifact
            if predicts is not None:
                predictor = name + ".predicts.gradus"
                self.run_in(GRADUS, "compile", os.path.join(MODELS, folder, file), "--recipe", name + ".json", *predicts, "-o", predictor)
            self.run_in(GRADUS, "predict", predictor, "--checkpoint", checkpoint, "--data", data, *averaged, "-o", out)
            self.run_in(GRADUS, "export", artifact, "--checkpoint", checkpoint, "--inference", *averaged, "-o", model)
            self.script(PROGRAM, model, data, out, case["output"]["name"], str(case["inputs"][0]["shape"][0]))

    def recipe(self, case, file, name):
        shapes = {each["name"]: each["shape"] for each in case["inputs"]}
        described = next(each for each in case["files"] if each["file"] == file)
        dims = {dim: shapes[each][int(axis)] for each, axes in (described.get("symbolic_dims") or {}).items() for axis, dim in axes.items()}
        with open(os.path.join(OUT, name + ".json"), "w") as stream:
            json.dump({"loss": {"output": case["output"]["name"], **case["loss"]}, "inputs": {"dims": dims},
                       "optimizer": {"type": "adamw", "learning_rate": 0.003}}, stream)
        return name + ".json"

    def test_normalization_exported_for_inference(self):
        self.check_case("resnet18-small", "model_dynamo.onnx")

    def test_normalization_exported_for_training_turned_to_inference(self):
        self.check_case("resnet18-small", "model.onnx", "--inference", changes=20)

    def test_normalization_exported_for_training_stays(self):
        self.check_case("resnet18-small", "model.onnx", predicts=False)

    def test_another_batch_of_a_symbolic_size(self):
        self.check_case("resnet18-small", "model_dynshape.onnx", "--inference", changes=20, batch=3)

    def test_a_program_of_convolutions(self):
        self.check_program("resnet18-small")

    def test_a_program_that_methods_rewrote(self):
        self.check_program("resnet18-small", "--less-bn", "--fc-to-fn=bias=true,epsilon=0.5")

    def test_a_program_with_fewer_normalizations(self):
        self.check_program("resnet18-small", "--less-bn", files=["model_dynamo.onnx"])

    def test_a_program_with_a_normalized_head(self):
        self.check_program("lenet5", "--fc-to-fn")

    def test_a_program_of_which_layers_were_frozen(self):
        self.check_program("lenet5", "--gradient-freeze=last-layers=1")

    def test_a_program_of_frozen_normalizations(self):
        self.check_program("resnet18-small", "--set=freeze_batch_norm=true", files=["model.onnx"])

    def test_a_program_trained_in_bf16_is_written_in_f32(self):
        """The precision is no part of the program that an artifact carries."""
        self.check_program("lenet5", "--precision=bf16", predicts=[])

    def test_a_program_with_averages(self):
        self.check_program("lenet5", "--set=ema.decay=0.9", ema=True)

    def test_programs_of_other_architectures(self):
        for folder in ("mlp", "lenet5", "lstm-tiny", "gpt2-tiny", "bert-tiny", "dlrm-tiny", "norm-free-tiny"):
            with self.subTest(folder):
                self.check_program(folder)

    def test_tied_weights(self):
        self.check_case("gpt2-tiny", "model.onnx")

    def test_tied_weights_of_symbolic_sizes(self):
        self.check_case("bert-tiny", "model_dynshape.onnx", batch=3)

    def test_weights_in_a_file_of_their_own(self):
        self.check_case("unet-small", "model_dynamo.onnx")


if __name__ == "__main__":
    unittest.main()
