"""The examples of docs/python/from_pytorch.md run, one after the other, and what they write compiles."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from needs_torch import torch, torch_is_missing  # noqa: E402
from package import BUILD, ROOT  # noqa: E402


@unittest.skipIf(torch is None, torch_is_missing())
class Page(unittest.TestCase):
    def test_its_examples_run(self):
        with open(os.path.join(ROOT, "docs", "python", "from_pytorch.md")) as file:
            text = file.read()
        examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        self.assertEqual(len(examples), 3)
        command = re.search(r"`gradus (compile model.onnx [^`]*)`", text)[1].split()
        here = os.getcwd()
        with tempfile.TemporaryDirectory(prefix="gradus_page.") as folder:
            os.chdir(folder)
            try:
                names = {}
                for example in examples:
                    exec(example, names)
                done = subprocess.run([os.path.join(BUILD, "bin", "gradus"), *command], capture_output=True, text=True)
            finally:
                os.chdir(here)
        self.assertEqual(done.returncode, 0, done.stderr)
