"""ONNX's own cases: what we claim passes, and docs/reference/onnx_backend.md is
what they give."""

import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from this_build import is_sanitized  # noqa: E402

PAGE = os.path.join(HERE, "..", "docs", "reference", "onnx_backend.md")
DEPS = os.environ.get("GRADUS_DEPS") or os.path.join(os.path.expanduser("~"), ".cache", "gradus")
PYTHON = os.path.join(DEPS, "onnx-tests", "bin", "python")


def passed(text):
    """kind -> number of passed cases, as a page's first table has them."""
    return {kind: int(count) for kind, count in re.findall(r"^\| ([\w-]+) \| \d+ \| (\d+) \|", text, re.M)}


@unittest.skipUnless(os.path.exists(PYTHON), "the onnx package is not there")
class OnnxBackend(unittest.TestCase):
    maxDiff = None

    def run_cases(self, *options):
        command = [PYTHON, "-W", "ignore", os.path.join(HERE, "onnx_backend.py"), *options]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr[-20000:])
        return done

    def test_each_op_runs_on_the_emulated_gpu(self):
        done = self.run_cases("--device", "emulated", "--each-op")
        count = int(re.match(r"(\d+) passed, 0 failed", done.stdout)[1])
        self.assertGreater(count, 150, "too few ops have a case that passed")

    @unittest.skipUnless(is_sanitized(), "the other test runs all of them")
    def test_a_quarter_of_the_cases_passes(self):
        """Cases of an op stand together, so that most ops have some."""
        done = self.run_cases("--every", "4")
        count = int(re.match(r"(\d+) passed, 0 failed", done.stdout)[1])
        self.assertGreater(count, 250)

    @unittest.skipIf(is_sanitized(), "the sanitizers see a quarter of the cases")
    def test_claimed_cases_pass(self):
        done = self.run_cases("--page")
        with open(PAGE) as file:
            page = file.read()
        recorded, now = passed(page), passed(done.stdout)
        fewer = {kind: (now.get(kind), count) for kind, count in recorded.items() if now.get(kind, 0) < count}
        self.assertEqual(fewer, {}, "fewer cases pass than the page says")
        self.assertEqual(done.stdout.strip(), page.strip(), "the page is out of date: tests/onnx_backend.py --write")


if __name__ == "__main__":
    unittest.main()
