"""The commands of docs/tour.md print what the page says, and README's excerpts are true."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(ROOT, "build"))
DIGITS = os.path.join(ROOT, "docs", "examples", "digits")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def consoles(page):
    """(command, lines shown) of every console block."""
    for block in re.findall(r"^```console\n(.*?)^```$", page, re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            yield command, lines


def plain(line):
    """A line without the numbers of its values and its spaces."""
    return re.sub(r"\s+", " ", re.sub(r"%[\w.]+(:\d+)?(#\d+)?", "%", line)).strip()


class Tour(unittest.TestCase):
    def test_each_command_prints_what_the_page_shows(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(DIGITS, folder, dirs_exist_ok=True)
            path = os.path.join(BUILD, "bin") + os.pathsep + os.environ["PATH"]
            for command, shown in consoles(read("docs/tour.md")):
                done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True,
                                      env={**os.environ, "PATH": path})
                with self.subTest(command):
                    self.compare(shown, done.stdout + done.stderr)

    def compare(self, shown, output):
        printed = [plain(line) for line in output.split("\n")]
        for line in shown:
            if line == "...":
                continue
            wanted = plain(line.removesuffix("..."))
            cut = line.endswith("...")
            self.assertTrue(any(found.startswith(wanted) if cut else found == wanted for found in printed),
                            f"not printed: {line}\n{output}")


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
        recipes = [(page, block) for page in pages for block in re.findall(r"^```json\n(.*?)^```$", read(page), re.M | re.S)]
        self.assertGreater(len(recipes), 5)
        for page, recipe in recipes:
            with self.subTest(page), tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                file.write(recipe)
                file.flush()
                done = subprocess.run([os.path.join(BUILD, "bin", "gradus"), "recipe", file.name], capture_output=True,
                                      text=True)
                self.assertEqual(done.returncode, 0, done.stderr)


class Readme(unittest.TestCase):
    def test_each_excerpt_stands_in_its_file(self):
        found = re.findall(r"^\[`[^`]+`\]\(([^)]+)\):\n\n```\w+\n(.*?)^```$", read("README.md"), re.M | re.S)
        self.assertEqual(len(found), 2)
        for path, code in found:
            self.assertIn(code, read(path))

    def test_the_recipe_is_that_of_the_digits(self):
        self.assertIn(read("docs/examples/digits/recipe.json").strip(), read("README.md"))


if __name__ == "__main__":
    unittest.main()
