"""docs/add_a_second_order_method.md shows the example plug-in as it stands; its keys, length and pieces are those of the page."""

import glob
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pages import ROOT, check_excerpts, read

PAGE = "docs/add_a_second_order_method.md"
PLUGIN = "docs/examples/foof"


class AddASecondOrderMethod(unittest.TestCase):
    def test_each_excerpt_stands_in_its_file(self):
        check_excerpts(self, PAGE, 6)

    def test_the_example_has_as_many_lines_as_the_page_says(self):
        lines = {os.path.basename(path): read(path).count("\n") for path in glob.glob(os.path.join(ROOT, PLUGIN, "*"))}
        self.assertEqual(sorted(lines), ["CMakeLists.txt", "foof.cpp"])
        said = re.search(r"It is (\d+) lines, and (\d+) of CMake", read(PAGE))
        self.assertEqual([int(each) for each in said.groups()], [lines["foof.cpp"], lines["CMakeLists.txt"]])

    def test_the_table_has_the_keys_with_their_defaults(self):
        keys = dict(re.findall(r'Field\{"(\w+)", \w+, "([\d.]+)"', read(f"{PLUGIN}/foof.cpp")))
        self.assertEqual(len(keys), 3)
        rows = dict(re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", read(PAGE), re.M))
        self.assertEqual(rows, keys)

    def test_each_piece_is_in_the_header_that_the_page_names(self):
        table = read(PAGE).split("\n## The pieces\n")[1].split("\n## ")[0]
        rows = re.findall(r"^\| \[`([^`]+)`\].*? \| (.*) \|$", table, re.M)
        self.assertGreaterEqual(len(rows), 6)
        named = [(header, name) for header, text in rows for name in re.findall(r"`(\w+[A-Z]\w+)`", text) if name != "isInputs"]
        self.assertGreaterEqual(len(named), 7)
        for header, name in named:
            with self.subTest(name):
                self.assertRegex(read(header), rf"\b{name}\(")


if __name__ == "__main__":
    unittest.main()
