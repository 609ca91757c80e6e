"""What checkers of types are told: the extension's names, and that a typed program of a user needs no words more."""

import ast
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package import ROOT, needs_package  # noqa: E402

SOURCES = os.path.join(ROOT, "python")
PROGRAM = '''import numpy
import gradus


def train(path: str) -> float:
    step = gradus.compile(path, loss="softmax_cross_entropy", optimizer={"type": "adamw", "learning_rate": 1e-3}, dims={"batch": 32})
    out: gradus.Outputs = step(numpy.zeros((32, 1, 28, 28), "float32"), numpy.arange(32) % 10)
    outs = step.steps([(numpy.zeros((32, 1, 28, 28), "float32"), numpy.arange(32) % 10)] * 2)
    records = step.fit("train.safetensors", epochs=2, eval="test.safetensors", best="accuracy")
    records.report("run.html")
    accuracy: float = records[-1]["test"]["accuracy"]
    step.set("optimizer.learning_rate", 0.1)
    step["fc1.bias"] = numpy.zeros(120, "float32")
    names: list[str] = [*step.inputs, *step.outputs, *step.states, *step.graphs]
    bits = step.save_checkpoint()
    if bits is not None:
        step.resume(bits)
    step.load_state_dict(step.state_dict())
    text: str = step.ir("gradients")
    print(step.predict(numpy.zeros((5, 1, 28, 28), "float32")).logits, names, text[:10], len(outs), step.recipe["loss"], gradus.__version__)
    with gradus.load("m.gradus", state="m.safetensors") as other:
        print(other.step_count, other.memory["predicted"], other.metadata("artifact.classes"), dict(other.evaluate("t.safetensors")))
    for said in step.diagnostics:
        print(said)
    step.close()
    loss: float = out.loss
    return loss + accuracy


try:
    train("lenet.onnx")
except gradus.CompileError as error:
    print([each.severity for each in error.diagnostics])
except gradus.NotExpressible as error:
    print(error)
except (gradus.InvalidError, gradus.FailedError, gradus.CancelledError, gradus.Error):
    pass'''


def declared():
    """The names that `_core.pyi` declares, but for what it imports."""
    with open(os.path.join(SOURCES, "gradus", "_core.pyi"), encoding="utf-8") as file:
        body = ast.parse(file.read()).body
    return {each.target.id if isinstance(each, ast.AnnAssign) else each.name for each in body
            if isinstance(each, (ast.AnnAssign, ast.FunctionDef, ast.ClassDef))}


class Types(unittest.TestCase):
    @needs_package
    def test_the_extension_has_what_is_declared_and_no_more(self):
        from gradus import _core

        self.assertEqual(declared(), {name for name in dir(_core) if not name.startswith("__")})

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "there is no mypy")
    def test_a_users_typed_program_passes_strict_checks(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "program.py"), "w", encoding="utf-8") as file:
                file.write(PROGRAM)
            checked = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", folder, "program.py"],
                                     cwd=folder, env={**os.environ, "MYPYPATH": SOURCES}, capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)


if __name__ == "__main__":
    unittest.main()
