"""Runs of the tool on two ranks, as processes and as threads. For tests."""

import os
import re
import shutil
import subprocess
import unittest

from resumed_training import BUILD, DATA, EVERYTHING, GRADUS, Folder, run

# Open MPI keeps memory until a process ends, which sanitizers would find.
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"

MODE = {"distribution": {"mode": "data_parallel"}}
STARTED = ["--ranks", "2"]
SIMULATED = ["--simulate-ranks", "2"]
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
SECONDS = 60  # that no run here takes


def missing():
    if not os.path.exists(os.path.join(BUILD, "lib", "libgradus_mpi.so")):
        return "built without MPI"
    return "" if shutil.which("mpirun") else "there is no mpirun (openmpi-bin)"


class RanksTest(unittest.TestCase):
    RECIPE = {**EVERYTHING, **MODE}

    @classmethod
    def setUpClass(cls):
        cls.folder = Folder(cls.__name__)
        cls.artifact = cls.folder.compile("net.gradus", **cls.RECIPE)

    def at(self, name):
        return self.folder.at(f"{self._testMethodName}.{name}")

    def words(self, steps, name, *more, artifact=None):
        """Begins a run, or goes on with it where it has a checkpoint."""
        state = self.at(f"{name}.safetensors")
        resume = ["--resume", state] if os.path.exists(state) else []
        return [GRADUS, "train", artifact or self.artifact, *DATA, "--steps", str(steps), "--checkpoint", state,
                "--log", self.at(f"{name}.jsonl"), *resume, *more]

    def train(self, *words, **how):
        return run(self.words(*words, **how))

    def expect_same_bits(self, one, other):
        for name in (one, other):
            with open(self.at(f"{name}.safetensors"), "rb") as file:
                self.assertGreater(len(file.read()), 10000)
        self.assertTrue(self.read(one) == self.read(other), f"{one} and {other} have other bits")

    def read(self, name):
        with open(self.at(f"{name}.safetensors"), "rb") as file:
            return file.read()

    def ends(self, command, code=2, **environment):
        """What a command prints on stderr that ends with the code; one line of it is an error."""
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=SECONDS)
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, code, said)
        self.assertEqual(len(re.findall("^gradus: ", done.stderr, re.M)), 1, said)
        return done.stderr
