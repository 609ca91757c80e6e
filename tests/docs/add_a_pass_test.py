"""docs/add_a_pass.md shows the example plug-in as it stands, and the example is as short as the page says."""

import glob
import os
import re
import subprocess
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
OPT = os.path.join(os.environ.get("GRADUS_BUILD") or os.path.join(ROOT, "build"), "bin", "gradus-opt")
PLUGIN = os.path.join(ROOT, "docs", "examples", "pass_plugin")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class AddAPass(unittest.TestCase):
    def test_each_excerpt_stands_in_its_file(self):
        found = re.findall(r"^\[`[^`]+`\]\(\.\./([^)]+)\):\n\n```\w+\n(.*?)^```$", read("docs/add_a_pass.md"), re.M | re.S)
        self.assertEqual(len(found), 5)
        for path, code in found:
            with self.subTest(path):
                self.assertIn(code, read(path))

    def test_the_program_by_hand_goes_through_the_pipeline(self):
        program, = [code for code in re.findall(r"^```mlir\n(.*?)^```$", read("docs/add_a_pass.md"), re.M | re.S) if "gradus.program" in code]
        done = subprocess.run([OPT, "--training=stop-after=update"], input=program, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("gradus.write @slope", done.stdout)

    def test_the_example_has_as_many_lines_as_the_page_says(self):
        lines = sum(read(path).count("\n") for path in glob.glob(os.path.join(PLUGIN, "*")))
        self.assertLessEqual(lines, 100)
        self.assertIn(f"It is {lines} lines", read("docs/add_a_pass.md"))


if __name__ == "__main__":
    unittest.main()
