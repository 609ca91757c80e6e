"""The commands of docs/tour.md and README.md print what the pages say, and README's excerpts are true."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pages import BUILD, DIGITS, ROOT, blocks, check_consoles, check_excerpts, excerpts, read


class Tour(unittest.TestCase):
    def test_each_command_prints_what_the_page_shows(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(DIGITS, folder, dirs_exist_ok=True)
            check_consoles(self, "docs/tour.md", folder)


class Files(unittest.TestCase):
    def test_pages_that_are_followed_in_one_folder_write_files_of_their_own(self):
        pages = ["README.md", "docs/tour.md", "docs/examples/digits/README.md"]
        texts = {page: read(page) for page in pages}
        texts["gradus train --help"] = subprocess.run([os.path.join(BUILD, "bin", "gradus"), "train", "--help"],
                                                      capture_output=True, text=True).stdout.replace("\\\n", "")
        owners = {}
        for page, text in texts.items():
            for command in re.findall(r"^(?:\$ | *)gradus train (.*)$", text, re.M):
                name = re.search(r"--checkpoint (\S+)\.safetensors", command) or re.match(r"(\S+)\.gradus", command)
                self.assertEqual(owners.setdefault(name[1], page), page, f"{page} writes {name[1]}, too")
        self.assertEqual(set(owners.values()), set(texts))


class Recipes(unittest.TestCase):
    def test_each_in_the_docs_is_one_that_the_reader_takes(self):
        pages = ["README.md"] + [os.path.join("docs", name) for name in os.listdir(os.path.join(ROOT, "docs"))
                                 if name.endswith(".md")]
        recipes = [(page, block) for page in pages for block in blocks(page, "json")]
        self.assertGreater(len(recipes), 5)
        for page, recipe in recipes:
            with self.subTest(page), tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                file.write(recipe)
                file.flush()
                done = subprocess.run([os.path.join(BUILD, "bin", "gradus"), "recipe", file.name], capture_output=True,
                                      text=True)
                self.assertEqual(done.returncode, 0, done.stderr)


class Readme(unittest.TestCase):
    def test_each_command_prints_what_the_page_shows(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(DIGITS, folder, dirs_exist_ok=True)
            shutil.copy(os.path.join(BUILD, "tests", "lib", "sign_descent.so"), os.path.join(folder, "libsign_descent.so"))
            check_consoles(self, "README.md", folder, any_figures=True)

    def test_each_excerpt_stands_in_its_file(self):
        check_excerpts(self, "README.md", 4)

    def test_the_whole_plug_in_has_a_screen_of_lines(self):
        plug_in, = [code for path, code in excerpts("README.md") if path.endswith("sign_descent.cpp")]
        self.assertLessEqual(len(plug_in.split("\n")), 15)

    def test_the_recipe_is_that_of_the_digits(self):
        self.assertIn(read("docs/examples/digits/recipe.json").strip(), read("README.md"))


if __name__ == "__main__":
    unittest.main()
