"""The recipes of docs/methods/thor.md are taken, its commands run, and its table has the keys with their defaults."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pages import BUILD, DIGITS, blocks, check_consoles, read

PAGE = "docs/methods/thor.md"
GRADUS = os.path.join(BUILD, "bin", "gradus")
TOKENS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "models", "gpt2-tiny", "model.onnx")


def expanded(recipe):
    """A recipe with all its keys, as the tool prints it."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(recipe)
        file.flush()
        done = subprocess.run([GRADUS, "recipe", file.name], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def leaves(value, path=""):
    """{path of a key: value} of an object."""
    if not isinstance(value, dict):
        return {path: value}
    return {name: leaf for key, each in value.items() for name, leaf in leaves(each, f"{path}.{key}" if path else key).items()}


class Thor(unittest.TestCase):
    def test_each_recipe_is_one(self):
        recipes = blocks(PAGE, "json")
        self.assertGreaterEqual(len(recipes), 2)
        for recipe in recipes:
            with self.subTest(recipe):
                self.assertEqual(expanded(recipe)["precondition"]["type"], "thor")

    def test_the_table_has_the_keys_with_their_defaults(self):
        table = read(PAGE).split("\n## Keys\n")[1].split("\n## ")[0]
        rows = {cells[0].strip("`"): cells[1:3] for cells in (line.strip("| ").split(" | ") for line in table.split("\n")) if cells[0].startswith("`")}
        rows = {key: cells for key, cells in rows.items() if key not in ("kinds", "compat")}
        for column, name in enumerate(("thor", "kfac")):
            keys = leaves(expanded(json.dumps({"precondition": name}))["precondition"])
            keys = {key: value for key, value in keys.items() if key not in ("type", "kinds", "compat")}
            self.assertEqual({key: json.loads(cells[column]) for key, cells in rows.items()}, keys, name)

    def test_each_command_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(DIGITS, folder, dirs_exist_ok=True)
            check_consoles(self, PAGE, folder, any_figures=True)

    def test_each_state_is_one(self):
        """The states of the table are those of steps that have all of them: one of layers, one of layer norms, too."""
        loss = '{"loss": {"type": "softmax_cross_entropy", "class_axis": -1}}'
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(DIGITS, folder, dirs_exist_ok=True)
            shutil.copy(TOKENS, os.path.join(folder, "gpt2.onnx"))
            with open(os.path.join(folder, "tokens.json"), "w", encoding="utf-8") as file:
                file.write(loss)
            shown = ""
            for model, recipe in (("lenet", "recipe"), ("gpt2", "tokens")):
                compiled = subprocess.run([GRADUS, "compile", f"{model}.onnx", "--recipe", f"{recipe}.json", "-o", "x.gradus",
                                           "--precondition=kfac", "--set", "accumulation=2"], cwd=folder, capture_output=True, text=True)
                self.assertEqual(compiled.returncode, 0, compiled.stderr)
                shown += subprocess.run([GRADUS, "inspect", "x.gradus", "--states"], cwd=folder, capture_output=True, text=True).stdout
        table = read(PAGE).split("\n| state | |\n")[1].split("\n## ")[0]
        named = {name.replace("<parameter>", "fc1.weight") for name in re.findall(r"`([^` ]+/[^` ]+)`", table)}
        self.assertEqual(len(named), 9)
        for name in sorted(named):
            with self.subTest(name):
                self.assertRegex(shown, rf"(?m)^ *{re.escape(name)} ")


if __name__ == "__main__":
    unittest.main()
