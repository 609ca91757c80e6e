"""docs/add_a_pass.md shows the example plug-in as it stands, and the example is as short as the page says."""

import glob
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pages import BUILD, ROOT, blocks, check_excerpts, read

OPT = os.path.join(BUILD, "bin", "gradus-opt")
PLUGIN = os.path.join(ROOT, "docs", "examples", "pass_plugin")


class AddAPass(unittest.TestCase):
    def test_each_excerpt_stands_in_its_file(self):
        check_excerpts(self, "docs/add_a_pass.md", 5)

    def test_the_program_by_hand_goes_through_the_pipeline(self):
        program, = [code for code in blocks("docs/add_a_pass.md", "mlir") if "gradus.program" in code]
        done = subprocess.run([OPT, "--training=stop-after=update"], input=program, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("gradus.write @slope", done.stdout)

    def test_the_example_has_as_many_lines_as_the_page_says(self):
        lines = sum(read(path).count("\n") for path in glob.glob(os.path.join(PLUGIN, "*")))
        self.assertLessEqual(lines, 112)
        self.assertIn(f"It is {lines} lines", read("docs/add_a_pass.md"))


if __name__ == "__main__":
    unittest.main()
