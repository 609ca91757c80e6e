"""Errors of paths and names are those of Python, too; and what has no effect on a step is refused."""

import copy
import json
import os
import pickle
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package import MODEL, RECIPE, artifact, batch, needs_package  # noqa: E402


@needs_package
class Missing(unittest.TestCase):
    def setUp(self):
        import gradus

        self.step = gradus.load(artifact(), threads=1)
        self.addCleanup(self.step.close)

    def test_files(self):
        import gradus

        for path, ask in (("nosuch.onnx", lambda path: gradus.compile(path, recipe=RECIPE)),
                          ("nosuch.json", lambda path: gradus.compile(MODEL, recipe=path)),
                          ("nosuch.safetensors", lambda path: gradus.compile(MODEL, recipe=RECIPE, weights=path)),
                          ("nosuch.gradus", gradus.load), ("nosuch.safetensors", self.step.resume),
                          ("nosuch.safetensors", self.step.load_weights)):
            with self.assertRaisesRegex(FileNotFoundError, f"^{path}: there is no such file$") as found:
                ask(path)
            self.assertIsInstance(found.exception, gradus.InvalidError)
            self.assertEqual(found.exception.filename, path)
            self.assertEqual(str(pickle.loads(pickle.dumps(found.exception))), str(found.exception))

    def test_folders_of_files_that_are_written(self):
        import gradus

        with tempfile.TemporaryDirectory() as folder:
            missing = os.path.join(folder, "none")
            for name, ask in (("a.gradus", self.step.save), ("a.safetensors", self.step.save), ("b.safetensors", self.step.save_checkpoint),
                              ("a.html", self.step.report)):
                path = os.path.join(missing, name)
                with self.assertRaisesRegex(FileNotFoundError, f"^{path}: there is no folder {missing}$") as found:
                    ask(path)
                self.assertIsInstance(found.exception, gradus.Error)

    def test_states(self):
        import gradus

        with self.assertRaisesRegex(KeyError, "^no state is called 'fc1.wieght'; did you mean 'fc1.weight'\\?$") as found:
            self.step["fc1.wieght"]
        self.assertIsInstance(found.exception, gradus.Error)

    def test_the_compiler_of_the_package_for_running(self):
        import gradus
        from gradus import _compile

        with unittest.mock.patch.object(_compile, "__name__", "gradus_runtime._compile"):
            for ask in (lambda: _compile.compile(MODEL, recipe=RECIPE), lambda: _compile.inspect_ir(MODEL, "model")):
                with self.assertRaisesRegex(gradus.FailedError, "gradus_runtime .* has no compiler: install the package gradus"):
                    ask()


@needs_package
class WithoutEffect(unittest.TestCase):
    def setUp(self):
        import gradus

        self.step = gradus.load(artifact(), threads=1)
        self.addCleanup(self.step.close)

    def test_an_attribute_is_not_set(self):
        with self.assertRaisesRegex(AttributeError, r'no attribute \'fc\' to set; a state is written as step\["fc.weight"\]'):
            self.step.fc = 3

    def test_the_recipe_is_a_copy_and_says_so(self):
        recipe = self.step.recipe
        for change in (lambda: recipe["optimizer"].update(learning_rate=5), lambda: recipe.pop("seed"),
                       lambda: recipe["optimizer"].__setitem__("learning_rate", 5)):
            with self.assertRaisesRegex(TypeError, r"step.recipe is a copy.*step.set\("):
                change()
        self.assertEqual(json.loads(json.dumps(recipe)), recipe)
        mine = copy.deepcopy(recipe)
        mine["optimizer"]["learning_rate"] = 5
        self.assertIs(type(pickle.loads(pickle.dumps(recipe))), dict)
        self.assertNotEqual(self.step.recipe, mine)

    def test_batches_of_another_size_say_what_decides_it(self):
        import gradus

        image, label = batch(size=64)
        for ask in (lambda: self.step(image, label), lambda: self.step.steps([(image, label)])):
            with self.assertRaisesRegex(gradus.InvalidError, r'Batches have 32 samples here.*dims=\{"batch": 64\}'):
                ask()


if __name__ == "__main__":
    unittest.main()
