"""What docs/python.md shows runs as printed."""

import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package import DIGITS, ROOT, needs_package  # noqa: E402


@needs_package
class Docs(unittest.TestCase):
    def test_the_examples_run(self):
        with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as file:
            examples = re.findall(r"```python\n(.*?)```", file.read(), re.S)
        self.assertGreater(len(examples), 5)
        before, names, cache = os.getcwd(), {}, os.environ.get("GRADUS_CACHE")
        with tempfile.TemporaryDirectory() as folder:
            os.environ["GRADUS_CACHE"] = os.path.join(folder, "cache")
            for name in ("lenet.onnx", "recipe.json", "train.safetensors", "test.safetensors"):
                shutil.copy(os.path.join(DIGITS, name), folder)
            os.chdir(folder)
            try:
                for example in examples:
                    with contextlib.redirect_stdout(io.StringIO()):
                        exec(compile(example, "docs/python.md", "exec"), names)
            finally:
                os.chdir(before)
                os.environ.pop("GRADUS_CACHE")
                if cache is not None:
                    os.environ["GRADUS_CACHE"] = cache
                if "step" in names:  # an example that failed may have made none
                    names["step"].close()


if __name__ == "__main__":
    unittest.main()
