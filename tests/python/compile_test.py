"""Compiling from Python: what is given, what is refused, and what is kept."""

import gc
import json
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package import MODEL, PACKAGE, RECIPE, batch, digits, needs_package  # noqa: E402
from step_test import resident  # noqa: E402


def recipe():
    with open(RECIPE) as file:
        return json.load(file)


@needs_package
class Compile(unittest.TestCase):
    def test_models_and_recipes_come_in_all_forms(self):
        import gradus

        with open(MODEL, "rb") as file:
            model = file.read()
        with digits() as step:
            expected = step(*batch()).loss
        text = json.dumps(recipe())
        given = recipe()
        rest = {key: given.pop(key) for key in ("loss", "optimizer", "metrics")}
        for source, options in ((model, {"recipe": RECIPE}), (memoryview(model), {"recipe": text}), (MODEL, {"recipe": recipe()}),
                                (MODEL, {"recipe": given, **rest}), (model, {"dims": {"batch": 32}, **rest})):
            with gradus.compile(source, cache=False, **options) as step:
                self.assertEqual(step(*batch()).loss, expected)

    def test_keys_are_set_over_the_recipe(self):
        with digits(set={"optimizer.learning_rate": 0.5}, precision="f32", clip_grad_norm=2.0) as step:
            self.assertEqual(step.get("optimizer.learning_rate"), 0.5)
            self.assertEqual(step.recipe["clip"]["value"], 2.0)
            self.assertEqual(step.metadata("artifact.classes"), 10)

    def test_errors_are_the_compilers(self):
        import gradus

        for words, options in (("loss.type: unknown value .* did you mean", {"loss": "softmax_cross_entrpy"}),
                               ("unknown key", {"set": {"optimizr": 1}}), ("is no JSON", {"recipe": "{"}),
                               ("expected a dictionary", {"set": "a=1"}), ("recipe: expected a dictionary", {"recipe": 3}),
                               ("torch.nn.Module", {"example": 1})):
            with self.assertRaisesRegex(ValueError, words):
                gradus.compile(MODEL, cache=False, **{"recipe": RECIPE, **options})
        with self.assertRaisesRegex(gradus.CompileError, "batch") as raised:
            gradus.compile(MODEL, cache=False)
        self.assertTrue(any(said.severity == "error" for said in raised.exception.diagnostics) or str(raised.exception))
        for model in (b"", b"nothing", 3, "no_such.onnx"):
            with self.assertRaises((gradus.InvalidError, FileNotFoundError)):
                gradus.compile(model, cache=False)

    def test_the_ir_is_text_at_each_stage(self):
        with digits() as step:
            self.assertIn("gradus.update", step.ir("gradients"))
            self.assertNotIn("gradus.update", step.ir("update"))
            with self.assertRaisesRegex(ValueError, "unknown stage|stage"):
                step.ir("nowhere")

    def test_a_step_is_compiled_once_for_its_content(self):
        import gradus

        with tempfile.TemporaryDirectory() as folder:
            os.environ["GRADUS_CACHE"] = folder
            self.addCleanup(os.environ.pop, "GRADUS_CACHE")
            for expected, options in ((1, {}), (1, {}), (2, {"set": {"optimizer.learning_rate": 0.1}}), (2, {})):
                with gradus.compile(MODEL, recipe=RECIPE, **options):
                    pass
                found = [name for name in os.listdir(folder) if name.endswith(".gradus")]
                self.assertEqual(len(found), expected)
            for name in found:  # one that is damaged is made anew
                with open(os.path.join(folder, name), "r+b") as file:
                    file.truncate(1000)
            with gradus.compile(MODEL, recipe=RECIPE) as step:
                step(*batch())
            os.environ["GRADUS_CACHE_LIMIT"] = "1"
            self.addCleanup(os.environ.pop, "GRADUS_CACHE_LIMIT")
            with gradus.compile(MODEL, recipe=RECIPE, set={"optimizer.learning_rate": 0.3}) as step:
                self.assertEqual(len([name for name in os.listdir(folder) if name.endswith(".gradus")]), 1)
                for name in os.listdir(folder):
                    os.unlink(os.path.join(folder, name))
                step.save(os.path.join(folder, "saved.gradus"))
                self.assertIn("gradus.graph", step.ir("gradients"))

    def test_a_cache_that_cannot_be_written_is_done_without(self):
        import gradus

        os.environ["GRADUS_CACHE"] = os.path.join(MODEL, "no_folder")
        self.addCleanup(os.environ.pop, "GRADUS_CACHE")
        with gradus.compile(MODEL, recipe=RECIPE) as step:
            step(*batch())

    def test_warnings_are_pythons(self):
        import gradus

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with digits(targets=["cpu", "cpu"]) as step:
                said = [str(each) for each in step.diagnostics if each.severity == "warning"]
        self.assertIn("given twice", said[0])
        self.assertEqual([str(each.message) for each in caught if each.category is gradus.CompileWarning], said)

    def test_compiling_and_closing_leaks_nothing(self):
        cycles = 1000 if "compiling_and_closing" in os.environ.get("GRADUS_ONLY", "") else 12
        for _ in range(4):
            digits(threads=1).close()
        before = resident()
        for _ in range(cycles):
            digits(threads=1).close()
        gc.collect()
        self.assertLess(resident() - before, 24 << 20)

    def test_nothing_heavy_is_imported(self):
        code = ("import sys, gradus; gradus.compile, gradus.Step, gradus.__version__\n"
                "print([name for name in ('numpy', 'torch', 'json.tool', 'asyncio', 'multiprocessing') if name in sys.modules])")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": PACKAGE})
        self.assertEqual((done.stdout.strip(), done.stderr), ("[]", ""))


if __name__ == "__main__":
    unittest.main()
