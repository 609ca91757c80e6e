"""Architectures of full size train as recorded, from weights that are made by the
rule of their init.json. Minutes and gigabytes, so only for `--only full-size`."""

import glob
import os
import shutil
import subprocess
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(HERE, "..", "build"))
DEPS = os.environ.get("GRADUS_DEPS") or os.path.join(os.path.expanduser("~"), ".cache", "gradus")
PYTHON = os.path.join(DEPS, "onnx-tests", "bin", "python")  # has numpy
ROOTS = [os.path.join(HERE, "data", "models")] + [root for root in os.environ.get("GRADUS_MODELS", "").split(":") if root]
ASKED = "full-size" in os.environ.get("GRADUS_ONLY", "")


def cases():
    """Name -> folder of the cases without stored weights."""
    paths = [path for root in ROOTS for path in glob.glob(os.path.join(root, "**", "init.json"), recursive=True)]
    return {os.path.basename(os.path.dirname(path)): os.path.dirname(path) for path in reversed(paths)}


class FullSize(unittest.TestCase):
    def check(self, folder):
        whole = os.path.join(BUILD, "tests", "full_size", os.path.basename(folder))
        self.addCleanup(shutil.rmtree, whole, ignore_errors=True)
        subprocess.run([PYTHON, os.path.join(HERE, "data", "make_weights.py"), folder, whole], check=True)
        done = subprocess.run([os.path.join(BUILD, "bin", "gradus"), "check", whole], capture_output=True, text=True)
        print(done.stdout, end="", flush=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


def add(name, folder):
    @unittest.skipUnless(ASKED, "takes minutes; ./dev test --only full-size")
    def test(self):
        self.check(folder)

    setattr(FullSize, "test_" + name.replace("-", "_"), test)


for _name, _folder in sorted(cases().items()):
    add(_name, _folder)

if __name__ == "__main__":
    unittest.main()
