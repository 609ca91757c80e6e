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
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(HERE, "..", "..", "build"))
DEPS = os.environ.get("GRADUS_DEPS") or os.path.join(os.path.expanduser("~"), ".cache", "gradus")
PTXAS = glob.glob(os.path.join(DEPS, "cuda-*", "bin", "ptxas")) + glob.glob("/usr/local/cuda/bin/ptxas")


@unittest.skipIf(os.path.basename(BUILD) == "build-sanitize", "the packed programs are not sanitized ones")
@unittest.skipUnless(PTXAS, "there is no ptxas")
class Pack(unittest.TestCase):
    def test_what_is_packed_runs_elsewhere(self):
        packed, moved = (os.path.join(BUILD, "tests", name) for name in ("gpu-tests", "gpu-tests-moved"))
        shutil.rmtree(moved, ignore_errors=True)
        subprocess.run([sys.executable, os.path.join(HERE, "pack.py"), packed, "--only", "mlp", "--emulated"],
                       check=True, capture_output=True)
        os.rename(packed, moved)
        run = subprocess.run([os.path.join(moved, "run.sh")], capture_output=True, text=True,
                             env={"PATH": os.environ["PATH"], "GRADUS_DEVICE": "emulated", "GRADUS_SECONDS": "0.1"})
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        with open(os.path.join(moved, "results", "results.json")) as file:
            results = json.load(file)
        self.assertFalse(results["failed"])
        kinds = {(each["kind"], each["name"]) for each in results["results"]}
        self.assertEqual(kinds, {("compare", "mlp"), ("time", "mlp")})
        compared = next(each for each in results["results"] if each["kind"] == "compare")
        self.assertTrue(compared["ok"])
        self.assertLess(compared["result"]["largest"], 0.01)
        self.assertTrue(os.path.getsize(os.path.join(moved, "results", "mlp.trace.json")))

    def test_a_step_that_differs_fails(self):
        moved = os.path.join(BUILD, "tests", "gpu-tests-broken")
        shutil.rmtree(moved, ignore_errors=True)
        os.makedirs(os.path.join(moved, "bin"))
        os.makedirs(os.path.join(moved, "cases"))
        shutil.copy(os.path.join(HERE, "run.sh"), moved)
        for name, text in (("bin/cuda_tests", "exit 0"), ("bin/gradus", "echo 'too far' >&2; exit 1")):
            path = os.path.join(moved, name)
            with open(path, "w") as file:
                file.write(f"#!/bin/sh\n{text}\n")
            os.chmod(path, 0o755)
        open(os.path.join(moved, "cases", "x.gradus"), "w").close()
        run = subprocess.run([os.path.join(moved, "run.sh")], capture_output=True, text=True)
        self.assertEqual(run.returncode, 1)
        self.assertIn("FAILED: too far", run.stdout)
        with open(os.path.join(moved, "results", "results.json")) as file:
            self.assertTrue(json.load(file)["failed"])


if __name__ == "__main__":
    unittest.main()
