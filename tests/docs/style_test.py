"""docs/style.md shows code as it stands in the files that it names, and its glossary stays short."""

import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pages import check_excerpts, pages, read

# Words that the glossary replaces and that have no other sense in our pages.
REPLACED = r"\b(cards?|coins?|makers?)\b"


def prose(page):
    """A page without its code and the targets of its links."""
    text = re.sub(r"^ *(`{3,}).*?^ *\1", "", read(page), flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`|\]\([^)]*\)", "", text)


class Style(unittest.TestCase):
    def test_each_excerpt_stands_in_its_file(self):
        check_excerpts(self, "docs/style.md", 9)

    def test_the_glossary_has_at_most_40_lines(self):
        glossary = read("docs/style.md").split("\n## Words\n")[1]
        self.assertLessEqual(len(glossary.strip().split("\n")), 40)

    def test_no_page_says_what_the_glossary_replaces(self):
        told = [page for page in pages() if page.startswith(("docs/", "README")) and page not in ("docs/style.md", "docs/gpu.md")]
        bad = {page: found for page in told if (found := set(re.findall(REPLACED, prose(page), re.I)))}
        self.assertEqual(bad, {})


if __name__ == "__main__":
    unittest.main()
