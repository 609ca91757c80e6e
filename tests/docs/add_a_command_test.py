"""docs/add_a_command.md shows code as it stands in the files that it names."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pages import check_excerpts


class AddACommand(unittest.TestCase):
    def test_each_excerpt_stands_in_its_file(self):
        check_excerpts(self, "docs/add_a_command.md", 1)


if __name__ == "__main__":
    unittest.main()
