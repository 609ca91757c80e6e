"""Gradients of ONNX ops that are made of several of ours are what ONNX Runtime's
outputs say."""

import os
import subprocess
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
DEPS = os.environ.get("GRADUS_DEPS") or os.path.join(os.path.expanduser("~"), ".cache", "gradus")
PYTHON = os.path.join(DEPS, "onnx-tests", "bin", "python")


@unittest.skipUnless(os.path.exists(PYTHON), "the onnx package is not there")
class OnnxGradients(unittest.TestCase):
    maxDiff = None

    def test_gradients_are_finite_differences(self):
        command = [PYTHON, "-W", "ignore", os.path.join(HERE, "onnx_gradients.py")]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.stdout.strip(), "", done.stderr[-4000:])
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])


if __name__ == "__main__":
    unittest.main()
