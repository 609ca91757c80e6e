"""The keys and options that docs/words.md names are there, and its commands run."""

import functools
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


def rows():
    """The cells of each row of the page's tables."""
    for line in read(PAGE).split("\n"):
        if line.startswith("| ") and "`" in line:
            yield line.strip("| ").split(" | ")


def code_in(cell):
    return re.findall(r"`([^`]+)`", cell)


def last_cells():
    """The last cell of each row of the page's tables, its code alone."""
    return (code_in(row[-1]) for row in rows())


@functools.cache
def help_of(command):
    return subprocess.run([GRADUS, command, "--help"], capture_output=True, text=True).stdout


def synonyms():
    """(word, meaning) of recipe/synonyms.def."""
    return [[json.loads(text) for text in re.findall(r'"(?:[^"\\]|\\.)*"', line)]
            for line in read("recipe/synonyms.def").split("\n") if line.startswith("SYNONYM(")]


def bare(word):
    return re.sub("[^a-z0-9]", "", word.lower())


def leads(meaning, codes):
    """Whether a meaning is one of the keys or options in a cell."""
    if " --" in meaning:
        return any(code.split()[:2] == meaning.split()[:2] for code in codes)
    path, _, value = meaning.partition("=")
    for code in codes:
        place = json.loads("{" + code + "}") if code.startswith('"') else {}
        for key in path.split("."):
            place = place[0] if isinstance(place, list) else place
            place = place.get(key) if isinstance(place, dict) else None
        if place is not None and (value in ("", "true") or alike(json.loads(value) if value[0] in "[{" else value, place)):
            return True
    return False


def alike(value, place):
    """Whether two values of a key are one, whatever the numbers in them."""
    if isinstance(value, list):
        return isinstance(place, list) and alike(value[0], place[0])
    return value["type"] == place.get("type") if isinstance(value, dict) else value == place


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
        for command, option in options:
            with self.subTest(f"{command} {option}"):
                self.assertRegex(help_of(command), rf"(?m)^ +(-\w,)?{option}\b")

    def test_each_synonym_is_an_option_that_there_is(self):
        options = {meaning for _, meaning in synonyms() if " --" in meaning}
        self.assertGreater(len(options), 15)
        for meaning in sorted(options):
            command, option = meaning.split()[:2]
            with self.subTest(meaning):
                self.assertRegex(help_of(command), rf"(?m)^ +(-\w,)?{option}\b")

    def test_the_words_of_the_page_lead_where_it_says(self):
        """Each word of another tool that both have means the same."""
        meanings, both = {}, 0
        for word, meaning in synonyms():
            meanings.setdefault(bare(word), []).append(meaning)
        for idea, *cells, ours in rows():
            words = {bare(word.split("=")[0].split("(")[0].split(".")[-1]) for cell in cells for word in code_in(cell)}
            keys = code_in(ours)
            for word in sorted(words & meanings.keys()):
                both += 1
                with self.subTest(f"{idea}: {word}"):
                    self.assertTrue(any(leads(meaning, keys) for meaning in meanings[word]), (meanings[word], keys))
        self.assertGreater(both, 50)

    def test_each_command_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(DIGITS, folder, dirs_exist_ok=True)
            check_consoles(self, PAGE, folder, any_figures=True)


if __name__ == "__main__":
    unittest.main()
