"""Keywords that compile does not have, values that a recipe cannot hold, and the compiler's words in terms of keywords."""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package import BUILD, MODEL, RECIPE, needs_package  # noqa: E402


class Adam:
    """An object that no recipe can hold."""


@needs_package
class Keywords(unittest.TestCase):
    def says(self, words, **keys):
        import gradus

        with self.assertRaisesRegex(gradus.InvalidError, words):
            gradus.compile(MODEL, recipe=RECIPE, cache=False, **keys)

    def test_the_recipes_keys_are_those_of_the_compiler(self):
        from gradus._keywords import recipe_keys

        tool = subprocess.run([os.path.join(BUILD, "bin", "gradus"), "recipe", "--schema"], capture_output=True, check=True)
        self.assertEqual(sorted(json.loads(tool.stdout)["properties"]), sorted(recipe_keys()))

    def test_a_keyword_that_is_none_is_named_with_the_nearest(self):
        self.says("no keyword 'optimiser'.*did you mean 'optimizer'", optimiser=Adam())
        self.says("no keyword 'schedular'.*did you mean 'schedule", schedular=Adam())
        self.says("no keyword 'clip_grad_nrom'.*did you mean 'clip_grad_norm'", clip_grad_nrom=1.0)
        self.says("no keyword 'kernel_cahe'.*did you mean 'kernel_cache'", kernel_cahe="x")
        self.says("no keyword 'criterion'.*did you mean 'loss'", criterion=Adam())
        self.says("no keyword 'frobnicate', and the recipe no such key$", frobnicate=Adam())
        self.says('unknown key; did you mean "optimizer.learning_rate"', lr=0.1)  # the compiler's own

    def test_what_is_said_elsewhere_is_led_there(self):
        self.says('first axis of `example`.*dims={"batch": 32}', batch_size=32)
        for name in ("epochs", "callbacks", "patience", "max_epochs"):
            self.says(r"step\.fit\(data, epochs=", **{name: 3})

    def test_a_value_that_a_recipe_cannot_hold_is_named_by_its_place(self):
        self.says("^recipe: metrics: 1: expected a number.*found an object of Adam$", metrics=["accuracy", Adam()])
        self.says("^recipe: optimizer: learning_rate: .*found an object of Adam$", optimizer={"type": "sgd", "learning_rate": Adam()})
        self.says("^recipe: seed: .*found the class Adam$", seed=Adam)

    def test_a_schedule_in_parts_is_shown_whole(self):
        whole = r'scheduler=\{"learning_rate": \[\{"type": "cosine"'
        self.says("scheduler is the text 'cosine'.*" + whole, scheduler="cosine")
        self.says("scheduler is a list of pieces.*" + whole, scheduler=[{"type": "cosine", "rest": True}], optimizer="adamw")
        self.says("scheduler is one piece.*" + whole, scheduler={"type": "cosine", "rest": True})
        self.says("scheduler is a dict with a scheduler in it", scheduler={"scheduler": Adam(), "interval": "epoch"})

    def test_a_class_is_no_model(self):
        import gradus

        with self.assertRaisesRegex(gradus.InvalidError, r"model is the class Adam; give an object: Adam\(\.\.\.\)"):
            gradus.compile(Adam, example=1)
        with self.assertRaisesRegex(gradus.InvalidError, "model is a file, which knows its inputs"):
            gradus.compile(MODEL, example=1)


@needs_package
class Words(unittest.TestCase):
    def test_options_are_keywords(self):
        from gradus._keywords import in_python

        for words, expected in (
                ("give its size: --dim batch=32, say", 'give its size: dims={"batch": 32}, say'),
                ("--set loss.type=mse: no", 'set={"loss.type": "mse"}: no'),
                ("--stop-after foo: unknown", 'stage="foo": unknown'),
                ("compile it with --target cuda", 'compile it with targets="cuda"'),
                ("use gradus compile --node-outputs", "use node_outputs=True"),
                ("use gradus train --set x=1", "use gradus train --set x=1"),
                ("--simplify: no keyword", "--simplify: no keyword")):
            self.assertEqual(in_python(words), expected)

    def test_each_is_a_keyword_of_compile(self):
        import inspect

        import gradus
        from gradus._keywords import OPTIONS

        keywords = {*inspect.signature(gradus.compile).parameters, *inspect.signature(gradus.inspect_ir).parameters}
        self.assertLessEqual({name for name, _ in OPTIONS.values()}, keywords)


if __name__ == "__main__":
    unittest.main()
