"""Every recorded model of small size compiles for GPUs, one file of each: a few
for all, the others for one by turns, since what differs is how NVIDIA's assembler
fills registers. The full-size ones and all files are in full_size_test.py. What
the code does is compared in gpu_models_test.cpp, on the emulated GPU."""

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
GPUS = ["sm_80", "sm_90", "sm_100"]
FOR_ALL = ["mlp", "lenet5", "gpt2-tiny"]


@unittest.skipIf(is_sanitized(), "it is about what NVIDIA's assembler says, and the other run has it")
@unittest.skipUnless(recorded.has_cuda(), "built without a CUDA toolkit (GRADUS_CUDA=OFF)")
class GpuCompile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(dir=BUILD)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def check(self, folder, target, kinds):
        case = recorded.description(folder)
        artifact = recorded.compile_case(folder, case, case["files"][0], self.folder, "--target", target,
                                         "--kernel-cache", "off")
        printed = subprocess.run([recorded.GRADUS, "inspect", artifact, "--json"], capture_output=True, text=True, check=True)
        plan, = json.loads(printed.stdout)["plans"]
        self.assertEqual([(image["kind"], image["architecture"]) for image in plan["images"]], kinds)
        for image in plan["images"]:
            for kernel in image["kernels"]:
                with self.subTest(architecture=image["architecture"], kernel=kernel["name"]):
                    self.assertGreater(kernel["registers"], 0)
                    self.assertEqual(kernel["spilled_bytes"], 0)


def add(name, folder, gpu):
    target, kinds = f"cuda:{gpu}", [("cubin", gpu)]
    if name in FOR_ALL:
        target, kinds = "cuda", [*(("cubin", each) for each in GPUS), ("ptx", GPUS[-1])]
    setattr(GpuCompile, "test_" + name.replace("-", "_"), lambda self: self.check(folder, target, kinds))


_small = {name: folder for name, folder in recorded.folders().items() if not recorded.is_full_size(folder)}
for _number, (_name, _folder) in enumerate(_small.items()):
    add(_name, _folder, GPUS[_number % len(GPUS)])

if __name__ == "__main__":
    unittest.main()
