"""docs/add_an_op.md shows code as it stands in the files that it names."""

import os
import re
import textwrap
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def excerpts(page):
    """(file, code) of each fenced block that follows a line with a link and a colon."""
    pattern = r"^ *\[`[^`]+`\]\(\.\./([^)]+)\):\n\n( *)(`{3,})\w+\n(.*?)^\2\3$"
    for match in re.finditer(pattern, page, re.M | re.S):
        yield match[1], textwrap.dedent(match[4]).strip("\n")


class AddAnOp(unittest.TestCase):
    def test_each_excerpt_stands_in_its_file(self):
        found = list(excerpts(read("docs/add_an_op.md")))
        self.assertGreaterEqual(len(found), 6)
        for path, code in found:
            with self.subTest(path):
                self.assertIn(textwrap.dedent(code), textwrap.dedent(read(path)))


if __name__ == "__main__":
    unittest.main()
