"""docs/style.md shows code as it stands in the files that it names, and its glossary stays short."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pages import check_excerpts, read


class Style(unittest.TestCase):
    def test_each_excerpt_stands_in_its_file(self):
        check_excerpts(self, "docs/style.md", 9)

    def test_the_glossary_has_at_most_40_lines(self):
        glossary = read("docs/style.md").split("\n## Words\n")[1]
        self.assertLessEqual(len(glossary.strip().split("\n")), 40)


if __name__ == "__main__":
    unittest.main()
