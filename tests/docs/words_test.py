"""The keys and options that docs/words.md names are there, and its commands run."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pages import BUILD, DIGITS, check_consoles, read

PAGE = "docs/words.md"
GRADUS = os.path.join(BUILD, "bin", "gradus")


def last_cells():
    """The last cell of each row of the page's tables, its code alone."""
    for line in read(PAGE).split("\n"):
        if line.startswith("| ") and "`" in line:
            yield re.findall(r"`([^`]+)`", line.rstrip("| ").split(" | ")[-1])


def recipes(keys):
    """As few recipes as have all these keys."""
    made = []
    for key in keys:
        entry = json.loads("{" + key + "}")
        place = next((each for each in made if not each.keys() & entry.keys()), None)
        if place is None:
            made.append(entry)
        else:
            place.update(entry)
    return made


class Words(unittest.TestCase):
    def test_each_key_is_one_that_the_recipe_has(self):
        keys = [code for cell in last_cells() for code in cell if code.startswith('"')]
        self.assertGreater(len(keys), 30)
        for recipe in recipes(keys):
            with self.subTest(recipe), tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump(recipe, file)
                file.flush()
                done = subprocess.run([GRADUS, "recipe", file.name], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_each_option_is_one_that_the_command_has(self):
        options = [code.split() for cell in last_cells() for code in cell if not code.startswith('"')]
        self.assertGreater(len(options), 20)
        help_of = {command: subprocess.run([GRADUS, command, "--help"], capture_output=True, text=True).stdout
                   for command in {command for command, _ in options}}
        for command, option in options:
            with self.subTest(f"{command} {option}"):
                self.assertRegex(help_of[command], rf"(?m)^ +(-\w,)?{option}\b")

    def test_each_command_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(DIGITS, folder, dirs_exist_ok=True)
            check_consoles(self, PAGE, folder, any_figures=True)


if __name__ == "__main__":
    unittest.main()
