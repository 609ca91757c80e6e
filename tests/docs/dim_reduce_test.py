"""The recipes of docs/methods/dim_reduce.md are taken, its commands run, and its tables have the keys and states."""

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

PAGE = "docs/methods/dim_reduce.md"
GRADUS = os.path.join(BUILD, "bin", "gradus")


def expanded(recipe):
    """A recipe with all its keys, as the tool prints it."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(recipe)
        file.flush()
        done = subprocess.run([GRADUS, "recipe", file.name], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def table(before):
    """{first cell: second one} of the rows with code behind a line of the page."""
    rows = read(PAGE).split(before)[1].split("\n\n")[0]
    cells = [line.strip("| ").split(" | ") for line in rows.split("\n") if line.startswith("| `")]
    return {row[0].strip("`"): row[1] for row in cells}


class DimReduce(unittest.TestCase):
    def test_each_recipe_is_one(self):
        recipes = blocks(PAGE, "json")
        self.assertGreaterEqual(len(recipes), 1)
        for recipe in recipes:
            with self.subTest(recipe):
                self.assertEqual(expanded(recipe)["dim_reduce"]["basis"], "basis.safetensors")

    def test_the_table_has_the_keys_with_their_defaults(self):
        keys = {key: json.loads(default) for key, default in table("\n| key | default | |\n").items()}
        self.assertEqual(keys, expanded('{"dim_reduce": true}')["dim_reduce"])

    def test_the_optimizer_is_the_one_that_the_page_names(self):
        optimizer = expanded('{"dim_reduce": "b.safetensors"}')["optimizer"]
        self.assertEqual((optimizer["type"], optimizer["learning_rate"], optimizer["momentum"]), ("sgd", 0.001, 0.9))
        self.assertIn("sgd with a learning rate of 0.001 and momentum 0.9: the default of `optimizer`", read(PAGE))

    def test_each_key_of_mindspore_has_a_row(self):
        section = json.loads(read("docs/reference/recipe.schema.json"))["properties"]["boost"]
        text = json.dumps(section)
        rows = table("\n| key | here |\n")
        for key in ("rho", "gamma", "alpha", "sigma", "n_components", "pca_mat_path", "weight_load_dir", "timeout"):
            with self.subTest(key):
                self.assertIn(f'"{key}"', text)
                self.assertIn(key, rows)

    def test_each_command_runs_and_each_state_is_one(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(DIGITS, folder, dirs_exist_ok=True)
            check_consoles(self, PAGE, folder, any_figures=True)
            shown = subprocess.run([GRADUS, "inspect", "reduced.gradus", "--states"], cwd=folder, capture_output=True, text=True).stdout
        for name in table("\n| state | |\n"):
            with self.subTest(name):
                self.assertRegex(shown, rf"(?m)^ *{re.escape(name.replace('<parameter>', 'fc1.weight'))} ")


if __name__ == "__main__":
    unittest.main()
