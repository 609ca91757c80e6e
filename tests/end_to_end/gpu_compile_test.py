"""Every recorded model of small size compiles for all GPUs, one file of each; the
full-size ones and all files are in full_size_test.py. What the code does is
compared in gpu_models_test.cpp, on the emulated GPU."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TESTS = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, TESTS)
import recorded  # noqa: E402
from this_build import is_sanitized  # noqa: E402

BUILD = recorded.BUILD


@unittest.skipIf(is_sanitized(), "it is about what NVIDIA's assembler says, and the other run has it")
@unittest.skipUnless(recorded.has_cuda(), "built without a CUDA toolkit (GRADUS_CUDA=OFF)")
class GpuCompile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(dir=BUILD)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def check(self, folder):
        case = recorded.description(folder)
        artifact = recorded.compile_case(folder, case, case["files"][0], self.folder, "--target", "cuda",
                                         "--kernel-cache", "off")
        printed = subprocess.run([recorded.GRADUS, "inspect", artifact, "--json"], capture_output=True, text=True, check=True)
        plan, = json.loads(printed.stdout)["plans"]
        self.assertEqual([(image["kind"], image["architecture"]) for image in plan["images"]],
                         [("cubin", "sm_80"), ("cubin", "sm_90"), ("cubin", "sm_100"), ("ptx", "sm_100")])
        for image in plan["images"]:
            for kernel in image["kernels"]:
                with self.subTest(architecture=image["architecture"], kernel=kernel["name"]):
                    self.assertGreater(kernel["registers"], 0)
                    self.assertEqual(kernel["spilled_bytes"], 0)


def add(name, folder):
    setattr(GpuCompile, "test_" + name.replace("-", "_"), lambda self: self.check(folder))


for _name, _folder in recorded.folders().items():
    if not recorded.is_full_size(_folder):
        add(_name, _folder)

if __name__ == "__main__":
    unittest.main()
