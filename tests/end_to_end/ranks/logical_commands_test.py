"""A run of eight logical ranks writes the same checkpoint on any number of processes, also if that changes."""

import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from resumed_training import BUILD, DATA, DIGITS, GRADUS, ROOT, Folder, run, wait_for  # noqa: E402

# Open MPI keeps memory until a process ends, which sanitizers would find.
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"

LENET = os.path.join(DIGITS, "lenet.onnx")
GPT = os.path.join(ROOT, "tests", "data", "models", "gpt2-tiny", "model.onnx")
STEPS = 50
SECONDS = 120  # that no run here takes
RECIPE = {
    "loss": {"type": "softmax_cross_entropy"},
    "optimizer": {"type": "adamw", "learning_rate": 0.002},
    "seed": 3,
    "deterministic": True,
    "distribution": {"mode": "data_parallel", "logical_ranks": 8},
}


def missing():
    if not os.path.exists(os.path.join(BUILD, "lib", "libgradus_mpi.so")):
        return "built without MPI"
    return "" if shutil.which("mpirun") else "there is no mpirun (openmpi-bin)"


def write_tokens(path, samples=101, length=24):
    """Token ids and the next ones, of which some are to be ignored."""
    draw = random.Random(1)
    ids = [draw.randrange(128) for _ in range(samples * length)]
    labels = [-100 if draw.random() < 0.2 else draw.randrange(128) for _ in ids]
    parts = [struct.pack(f"<{len(numbers)}q", *numbers) for numbers in (ids, labels)]
    size = len(parts[0])
    head = json.dumps({name: {"dtype": "I64", "shape": [samples, length], "data_offsets": [i * size, (i + 1) * size]}
                       for i, name in enumerate(("input_ids", "label"))}).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head + b"".join(parts))


class LogicalRanks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder(cls.__name__)
        cls.lenet = cls.compile("lenet", LENET, {**RECIPE, "metrics": ["accuracy"]}, "--dim", "batch=4")
        cls.gpt = cls.compile("gpt", GPT, {**RECIPE, "loss": {"type": "softmax_cross_entropy", "class_axis": -1}})
        cls.tokens = cls.folder.at("tokens.safetensors")
        write_tokens(cls.tokens)

    @classmethod
    def compile(cls, name, model, recipe, *words, code=0):
        path = cls.folder.at(f"{name}.json")
        with open(path, "w") as file:
            json.dump(recipe, file)
        said = run([GRADUS, "compile", model, "--recipe", path, *words, "-o", cls.folder.at(f"{name}.gradus")], code)
        return said if code else cls.folder.at(f"{name}.gradus")

    def at(self, name):
        return self.folder.at(f"{self._testMethodName}.{name}")

    def words(self, artifact, name, *more, steps=STEPS):
        data = DATA if artifact == self.lenet else ["--data", self.tokens]
        state = self.at(f"{name}.safetensors")
        resume = ["--resume", state] if os.path.exists(state) else []
        return [GRADUS, "train", artifact, *data, "--steps", str(steps), "--checkpoint", state,
                "--log", self.at(f"{name}.jsonl"), *resume, *more]

    def train(self, *words, **how):
        said = run(self.words(*words, **how))
        self.assertNotIn("warning", re.sub("warning: --ranks .*, which the ranks share", "", said))
        return said

    def read(self, name):
        with open(self.at(f"{name}.safetensors"), "rb") as file:
            return file.read()

    def expect_same(self, name, other):
        self.expect_same_files(name, other)
        logs = [self.folder.log(self.at(f"{each}.jsonl")) for each in (name, other)]
        losses = [[line["loss"] for line in log if "loss" in line] for log in logs]
        self.assertGreater(len(losses[0]), 10)
        self.assertEqual(*losses)

    def expect_same_files(self, name, other):
        self.assertGreater(len(self.read(name)), 10000)
        self.assertTrue(self.read(name) == self.read(other), f"{name} and {other} have other bits")

    def expect_same_on_all(self, artifact):
        self.train(artifact, "whole", "--simulate-ranks", "8")
        self.train(artifact, "1")
        self.expect_same("1", "whole")
        for ranks in (2, 4):
            self.train(artifact, str(ranks), "--simulate-ranks", str(ranks))
            self.expect_same(str(ranks), "whole")

    def test_a_convolutional_net(self):
        self.expect_same_on_all(self.lenet)

    def test_a_transformer(self):
        self.expect_same_on_all(self.gpt)

    def test_a_run_goes_on_with_other_processes(self):
        self.train(self.lenet, "whole", "--simulate-ranks", "2")
        for ranks, steps in ((4, 17), (1, 29), (2, STEPS)):
            self.train(self.lenet, "parts", "--simulate-ranks", str(ranks), steps=steps)
        self.expect_same_files("parts", "whole")

    @unittest.skipIf(missing(), missing())
    def test_a_run_that_is_killed_on_four_goes_on_with_two(self):
        files = self.at("mpi")  # A launcher that is killed leaves them.
        os.mkdir(files)
        process = subprocess.Popen(self.words(self.lenet, "parts", "--ranks", "4", "--checkpoint-every", "7steps", steps=1000000),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env={**os.environ, "OMPI_MCA_btl_vader_backing_directory": files,
                                        "OMPI_MCA_orte_tmpdir_base": files})
        wait_for(self.at("parts.safetensors"), process)
        self.assertIsNone(process.poll())
        self.kill_all(self.at("parts.safetensors"))
        self.assertEqual(process.wait(timeout=SECONDS), -signal.SIGKILL)
        steps = self.step("parts") + 40
        self.train(self.lenet, "whole", "--ranks", "2", steps=steps)
        self.train(self.lenet, "parts", "--ranks", "2", steps=steps)
        self.expect_same_files("parts", "whole")

    def step(self, name):
        """The step of a checkpoint."""
        head = self.read(name)
        size = int.from_bytes(head[:8], "little")
        return int(json.loads(head[8:8 + size])["__metadata__"]["step"])

    def kill_all(self, word):
        """Kills the launchers and their processes, which have a word on their command lines, and waits for their end."""
        killed = set()
        found = True
        while found:
            found = False
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open(f"/proc/{pid}/cmdline") as file:
                        if word in file.read().split("\0"):
                            os.kill(int(pid), signal.SIGKILL)
                            killed.add(pid)
                            found = True
                except OSError:  # It is no more.
                    pass
        self.assertGreaterEqual(len(killed), 4)
        end = time.monotonic() + SECONDS
        while any(map(self.lives, killed)):
            self.assertLess(time.monotonic(), end, "a killed process lives on")
            time.sleep(0.005)

    def lives(self, pid):
        """Whether a process is there, and is no zombie: it may write files."""
        try:
            with open(f"/proc/{pid}/stat") as file:
                return file.read().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False

    def test_a_number_of_processes_that_divides_nothing_is_refused(self):
        said = run(self.words(self.lenet, "net", "--simulate-ranks", "3"), 2)
        self.assertRegex(said, r"8 logical ranks.* 3 .*1, 2, 4 or 8")

    def test_without_data_parallel_training_they_have_no_effect(self):
        artifact = self.compile("alone", LENET, {**RECIPE, "distribution": {"logical_ranks": 8}}, "--dim", "batch=4")
        self.assertEqual(json.loads(run([GRADUS, "inspect", artifact, "--json"]))["logical_ranks"], 0)
        said = run([GRADUS, "train", artifact, *DATA, "--steps", "3", "--no-checkpoint", "--json"])
        self.assertEqual(json.loads(said.splitlines()[0])["data"]["batch"], 4)

    def test_what_logical_ranks_exclude_is_refused(self):
        for key, value, words in (("deterministic", False, "needs deterministic true, but it is false"),
                                  ("accumulation", 2, "needs accumulation 1"),
                                  ("distribution", {**RECIPE["distribution"], "logical_ranks": 6},
                                   "is 6, expected a power of two"),
                                  ("distribution", {**RECIPE["distribution"], "reduce": "half"},
                                   'needs distribution.reduce "plain", but it is "half"')):
            said = self.compile("refused", LENET, {**RECIPE, key: value}, "--dim", "batch=4", code=2)
            self.assertIn("distribution.logical_ranks: ", said)
            self.assertIn(words, said)


if __name__ == "__main__":
    unittest.main()
