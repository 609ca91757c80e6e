"""Exported models compute in ONNX Runtime what they compute in Gradus."""

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
OUT = os.path.join(BUILD, "tests", "export")

COMPARE = """
import json, struct, sys
import numpy, onnxruntime
def read(path):
    content = open(path, "rb").read()
    start = 8 + struct.unpack("<Q", content[:8])[0]
    return {name: numpy.frombuffer(content[start + entry["data_offsets"][0]:start + entry["data_offsets"][1]],
                                   {"F32": "float32", "I64": "int64", "U8": "uint8"}[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in json.loads(content[8:start]).items() if name != "__metadata__"}
model, data, outputs = sys.argv[1:]
session = onnxruntime.InferenceSession(model)
image = read(data)["image"][:32]
image = (image.astype("float32") / 255 if image.dtype == "uint8" else image).reshape(32, 1, 28, 28)
found, expected = session.run(None, {"image": image})[0], read(outputs)["logits"][:32]
numpy.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
"""


@unittest.skipUnless(os.path.exists(PYTHON), "ONNX Runtime is not there")
class Export(unittest.TestCase):
    def run_in(self, *command):
        done = subprocess.run(command, cwd=OUT, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_trained_model_computes_the_same_in_onnx_runtime(self):
        os.makedirs(OUT, exist_ok=True)
        lenet, test = os.path.join(DIGITS, "lenet.onnx"), os.path.join(DIGITS, "test.safetensors")
        self.run_in(GRADUS, "compile", lenet, "--recipe", os.path.join(DIGITS, "recipe.json"), "-o", "lenet.gradus")
        self.run_in(GRADUS, "train", "lenet.gradus", "--data", os.path.join(DIGITS, "train.safetensors"), "--epochs", "1",
                    "--checkpoint", "lenet.safetensors")
        self.run_in(GRADUS, "predict", "lenet.gradus", "--checkpoint", "lenet.safetensors", "--data", test, "-o", "out.safetensors")
        self.run_in(GRADUS, "export", lenet, "--checkpoint", "lenet.safetensors", "-o", "trained.onnx")
        self.run_in(PYTHON, "-c", COMPARE, "trained.onnx", test, "out.safetensors")


if __name__ == "__main__":
    unittest.main()
