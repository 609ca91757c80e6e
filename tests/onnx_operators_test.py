"""The table of ONNX ops claims no gradient and no opset that is not there."""

import os
import subprocess
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
DEPS = os.environ.get("GRADUS_DEPS") or os.path.join(os.path.expanduser("~"), ".cache", "gradus")
PYTHON = os.path.join(DEPS, "onnx-tests", "bin", "python")


@unittest.skipUnless(os.path.exists(PYTHON), "the onnx package is not there")
class OnnxOperators(unittest.TestCase):
    maxDiff = None

    def test_the_table_says_the_truth(self):
        command = [PYTHON, "-W", "ignore", os.path.join(HERE, "onnx_operators.py")]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.stdout.strip(), "", done.stderr[-4000:])
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])


if __name__ == "__main__":
    unittest.main()
