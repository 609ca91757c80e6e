"""Runs the scripts that need the `onnx` package and ONNX Runtime; each prints what is wrong, a line each."""

import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from this_build import is_sanitized  # noqa: E402

DEPS = os.environ.get("GRADUS_DEPS") or os.path.join(os.path.expanduser("~"), ".cache", "gradus")
PYTHON = os.path.join(DEPS, "onnx-tests", "bin", "python")


@unittest.skipUnless(os.path.exists(PYTHON), "the onnx package is not there")
class OnnxScripts(unittest.TestCase):
    maxDiff = None

    def finds_nothing(self, script):
        command = [PYTHON, "-W", "ignore", os.path.join(HERE, script)]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.stdout.strip(), "", done.stderr[-4000:])
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])

    def test_gradients_of_ops_made_of_several_are_finite_differences(self):
        self.finds_nothing("onnx_gradients.py")

    def test_gradients_in_cases_of_onnx_are_finite_differences(self):
        self.finds_nothing("onnx_own_gradients.py")

    @unittest.skipIf(is_sanitized(), "it is about the importer's table, and the other run has it")
    def test_the_table_of_ops_claims_no_gradient_and_no_opset_that_is_not_there(self):
        self.finds_nothing("onnx_operators.py")

    def test_the_forms_of_nodes_are_those_of_onnx(self):
        self.finds_nothing("onnx_signatures.py")


if __name__ == "__main__":
    unittest.main()
