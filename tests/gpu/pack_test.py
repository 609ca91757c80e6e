"""The folder for a machine with a card is whole: its run.sh works here on the
emulated one."""

import glob
import json
import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from this_build import BUILD, is_sanitized  # noqa: E402

DEPS = os.environ.get("GRADUS_DEPS") or os.path.join(os.path.expanduser("~"), ".cache", "gradus")
PEER = os.path.join(DEPS, "peers", "torch", "bin", "python")
PTXAS = glob.glob(os.path.join(DEPS, "cuda-*", "bin", "ptxas")) + glob.glob("/usr/local/cuda/bin/ptxas")


@unittest.skipIf(is_sanitized(), "the packed programs are not sanitized ones")
@unittest.skipUnless(PTXAS, "there is no ptxas")
class Pack(unittest.TestCase):
    def test_what_is_packed_runs_elsewhere(self):
        packed, moved = (os.path.join(BUILD, "tests", name) for name in ("gpu-tests", "gpu-tests-moved"))
        shutil.rmtree(moved, ignore_errors=True)
        subprocess.run([sys.executable, os.path.join(HERE, "pack.py"), packed, "--only", "mlp", "--emulated"],
                       check=True, capture_output=True)
        os.rename(packed, moved)
        with open(os.path.join(moved, "bin", "cuda_tests"), "rb") as file:
            self.assertNotIn(os.path.join(BUILD, "tests", "bin").encode(), file.read(), "the build folder is not there")
        run = subprocess.run([os.path.join(moved, "run.sh")], capture_output=True, text=True,
                             env={"PATH": os.environ["PATH"], "GRADUS_DEVICE": "emulated", "GRADUS_SECONDS": "0.1"})
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        with open(os.path.join(moved, "results", "results.json")) as file:
            results = json.load(file)
        self.assertFalse(results["failed"])
        kinds = {(each["kind"], each["name"]) for each in results["results"]}
        self.assertEqual(kinds, {("compare", "mlp"), ("time", "mlp"), ("pytorch", "")})
        timed = next(each["result"] for each in results["results"] if each["kind"] == "time")
        self.assertGreater(timed["host"]["us_median"], 0)
        self.assertRegex(run.stdout, r"mlp +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +-\n", "the emulated card has no bandwidth")
        self.assertRegex(run.stdout, "all +not measured: (no PyTorch|PyTorch .* finds no card)")
        compared = next(each for each in results["results"] if each["kind"] == "compare")
        self.assertTrue(compared["ok"])
        self.assertLess(compared["result"]["largest"], 0.01)
        self.assertTrue(os.path.getsize(os.path.join(moved, "results", "mlp.trace.json")))

    def test_what_was_not_packed_is_not_deleted(self):
        folder = os.path.join(BUILD, "tests", "gpu-tests-of-others")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.join(folder, "bin"))
        kept = os.path.join(folder, "bin", "kept")
        open(kept, "w").close()
        for path, words in ((folder, "has files that were not packed"), (kept, "is a file; expected a folder")):
            run = subprocess.run([sys.executable, os.path.join(HERE, "pack.py"), path], capture_output=True, text=True)
            self.assertEqual(run.returncode, 1)
            self.assertIn(f"{path} {words}", run.stderr)
            self.assertTrue(os.path.exists(kept))

    def test_a_name_that_no_step_has_is_a_mistake(self):
        run = subprocess.run([sys.executable, os.path.join(HERE, "pack.py"), "--only", "lenett"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 1)
        self.assertIn("--only lenett: no step has that in its name; there are lenet, lenet-bf16, ", run.stderr)

    def folder_of_stubs(self, name, **programs):
        """A folder with programs of a line each in place of the packed ones."""
        folder = os.path.join(BUILD, "tests", name)
        shutil.rmtree(folder, ignore_errors=True)
        for each in ("bin", "cases", "reference"):
            os.makedirs(os.path.join(folder, each))
        shutil.copy(os.path.join(HERE, "run.sh"), folder)
        for program, text in programs.items():
            path = os.path.join(folder, "bin", program)
            with open(path, "w") as file:
                file.write(f"#!/bin/sh\n{text}\n")
            os.chmod(path, 0o755)
        open(os.path.join(folder, "cases", "x.gradus"), "w").close()
        return folder

    def test_libraries_are_found_in_pythons_packages(self):
        folder = self.folder_of_stubs(
            "gpu-tests-libraries", cuda_tests="exit 0", ldconfig="exit 0", python=f'[ "$1" = -c ] && echo "$PACKAGES"',
            gradus='echo "$GRADUS_CUBLASLT_LIBRARY $GRADUS_CUDNN_LIBRARY $LD_LIBRARY_PATH" >&2; exit 1')
        packages = os.path.join(folder, "site-packages")
        found = [os.path.join(packages, "nvidia", each) for each in ("cu13/lib/libcublasLt.so.13", "cudnn/lib/libcudnn.so.9")]
        for path in found:
            os.makedirs(os.path.dirname(path))
            open(path, "w").close()
        environment = {"PATH": os.path.join(folder, "bin") + ":" + os.environ["PATH"], "PACKAGES": packages,
                       "GRADUS_PYTHON": os.path.join(folder, "bin", "python")}
        run = subprocess.run([os.path.join(folder, "run.sh")], capture_output=True, text=True, env=environment)
        folders = ":".join(map(os.path.dirname, found))
        self.assertIn(f"FAILED: {found[0]} {found[1]} {folders}\n", run.stdout)
        environment["GRADUS_CUDNN_LIBRARY"] = "mine.so"
        run = subprocess.run([os.path.join(folder, "run.sh")], capture_output=True, text=True, env=environment)
        self.assertIn(f"FAILED: {found[0]} mine.so {folders}\n", run.stdout)

    def test_pytorchs_figures_stand_beside_ours(self):
        bench = '{"step":{"ms_min":3.5},"call":{"ms_min":3.0,"gb_per_s":2400.5,"of_bandwidth":0.5001},"host":{"us_median":12.34}}'
        lines = ('{"name": "x", "how": "eager", "ms": 2.0}', '{"name": "y", "how": "eager", "error": "too large"}')
        folder = self.folder_of_stubs(
            "gpu-tests-reference", cuda_tests="exit 0", gradus=f"echo '{bench}'",
            python="[ \"$1\" = -c ] || printf '%s\\n' " + " ".join(f"'{line}'" for line in lines))
        open(os.path.join(folder, "reference", "pytorch_reference.py"), "w").close()
        run = subprocess.run([os.path.join(folder, "run.sh")], capture_output=True, text=True,
                             env={"PATH": os.environ["PATH"], "GRADUS_PYTHON": os.path.join(folder, "bin", "python")})
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        for words in (r"x +3.500 +3.000 +12.3 +2400.5 +50.0\n", r"x +3.000 +2.000 +1.50 eager\n", r"y +not measured: too large\n"):
            self.assertRegex(run.stdout, words)
        with open(os.path.join(folder, "results", "results.json")) as file:
            results = json.load(file)["results"]
        self.assertEqual([each["ours_ms"] for each in results if each["kind"] == "pytorch"], [3.0, None])

    @unittest.skipUnless(os.path.exists(PEER), "there is no PyTorch of the bench's peers")
    def test_pytorch_trains_the_networks(self):
        steps = os.path.join(BUILD, "tests", "pytorch-steps.json")
        adamw = {"type": "adamw", "learning_rate": 0.0001, "betas": [0.9, 0.95], "epsilon": 1e-8, "weight_decay": 0.1}
        with open(steps, "w") as file:
            json.dump({"gpt": {"network": "gpt-d256", "sizes": {"batch": 1, "seq": 8}, "optimizer": adamw},
                       "none": {"network": "none", "sizes": {}, "optimizer": adamw}}, file)
        run = subprocess.run([PEER, os.path.join(HERE, "pytorch_reference.py"), "--device", "cpu", "--steps", steps,
                              "--seconds", "0.1", "--how", "eager"], capture_output=True, text=True, check=True,
                             env={"PATH": os.environ["PATH"], "PYTHONPATH": os.path.join(HERE, "..", "bench")})
        first, second = map(json.loads, run.stdout.splitlines())
        self.assertGreater(first["ms"], 0)
        self.assertEqual(second["error"], "'none'")

    def test_a_step_that_differs_fails(self):
        moved = self.folder_of_stubs("gpu-tests-broken", cuda_tests="exit 0", gradus="echo 'too far' >&2; exit 1")
        run = subprocess.run([os.path.join(moved, "run.sh")], capture_output=True, text=True)
        self.assertEqual(run.returncode, 1)
        self.assertIn("FAILED: too far", run.stdout)
        with open(os.path.join(moved, "results", "results.json")) as file:
            self.assertTrue(json.load(file)["failed"])


if __name__ == "__main__":
    unittest.main()
