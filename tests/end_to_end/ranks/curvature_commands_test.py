"""Curvature over ranks by the commands: inverses that are dealt to ranks, and steps in a subspace."""

import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import rank_runs  # noqa: E402
from rank_runs import MPI, SIMULATED, STARTED, missing  # noqa: E402
from resumed_training import DATA, EVAL, GRADUS, MODEL, RECIPE, run  # noqa: E402

SGD = {"type": "sgd", "learning_rate": 0.01, "momentum": 0.9}
SHORT = {"loss": {**RECIPE["loss"], "ignore_index": -1}, "inputs": {"last_batch": "mask"}, "optimizer": SGD}
THOR = {"precondition": {"type": "thor", "damping": 0.3, "block": 16, "refresh": {"every": 3, "dealt": True}}}
TWO = {"distribution": {"mode": "data_parallel", "ranks": 2}}


class OfCurvature:
    METHOD = {}

    @classmethod
    def setUpClass(cls):
        cls.RECIPE = {**SHORT, **TWO, **cls.METHOD}
        super().setUpClass()

    def on_few_samples(self, name, artifact, *ranks):
        """The losses of two epochs of 360 samples: five steps of 64, and a sixth one of 40."""
        run([GRADUS, "train", artifact, "--data", EVAL[1], "--steps", "12", "--log", self.at(f"{name}.jsonl"), *ranks])
        steps = [line for line in self.folder.log(f"{self._testMethodName}.{name}.jsonl") if "loss" in line]
        self.assertEqual([line["epoch"] for line in steps], 6 * [1] + 6 * [2])
        return [line["loss"] for line in steps]

    def test_a_run_that_goes_on_has_the_bits_of_a_whole_one(self):
        """Some runs end before a refresh, behind one, and behind the short batch of the first epoch, of which the second rank has no sample."""
        self.train(26, "whole", *SIMULATED, "--check-replicas", "4")
        for steps in (2, 7, 23, 26):
            self.train(steps, "cut", *SIMULATED)
        self.expect_same_bits("whole", "cut")

    @unittest.skipIf(missing(), missing())
    def test_processes_have_the_bits_of_threads(self):
        os.environ.update(MPI)
        self.train(7, "simulated", *SIMULATED)
        self.train(7, "started", *STARTED)
        self.expect_same_bits("simulated", "started")

    def test_samples_of_a_short_batch_count_once(self):
        """A single process has the samples of both ranks in one batch; the eight samples of the second rank weigh as much as the 32 of the first."""
        program, recipe = self.at("one.mlir"), self.at("one.json")
        with open(program, "w") as file:
            file.write(MODEL.replace("tensor<32x", "tensor<64x"))
        with open(recipe, "w") as file:
            json.dump({**RECIPE, **SHORT, **self.METHOD}, file)
        run([GRADUS, "compile", program, "--recipe", recipe, "-o", self.at("one.gradus")])
        found = self.on_few_samples("two", self.artifact, *SIMULATED)
        for step, (loss, expected) in enumerate(zip(found, self.on_few_samples("one", self.at("one.gradus")), strict=True), 1):
            self.assertLess(abs(loss - expected), 1e-4 * expected, step)

    def test_another_number_of_ranks_is_refused(self):
        for ranks, count in (["--simulate-ranks", "3"], 3), ([], 1):
            said = self.ends(self.words(6, "other", *ranks))
            self.assertIn(f"is for 2 ranks (distribution.ranks), and runs on {count}", said)
        three = self.folder.compile("three.gradus", **{**self.RECIPE, "distribution": {"mode": "data_parallel", "ranks": 3}})
        self.train(6, "moved", *SIMULATED)
        self.assertNotIn("of its own", self.train(9, "moved", "--simulate-ranks", "3", artifact=three))


class Dealt(OfCurvature, rank_runs.RanksTest):
    METHOD = THOR

    def test_it_has_the_bits_of_ranks_that_invert_all(self):
        """Each rank has all inverses then, whoever has made them."""
        refresh = {**THOR["precondition"]["refresh"], "dealt": False}
        alone = self.folder.compile("alone.gradus", **{**self.RECIPE, "precondition": {**THOR["precondition"], "refresh": refresh}})
        self.train(8, "dealt", *SIMULATED)
        self.train(8, "dealt", *SIMULATED, artifact=alone)
        self.train(14, "dealt", *SIMULATED)
        self.train(14, "alone", *SIMULATED, artifact=alone)
        states = [self.read(name) for name in ("dealt", "alone")]
        begins = [8 + int.from_bytes(each[:8], "little") for each in states]
        self.assertTrue(states[0][begins[0]:] == states[1][begins[1]:], "the states have other bits")


class Reduced(OfCurvature, rank_runs.RanksTest):
    @classmethod
    def setUpClass(cls):
        folder = rank_runs.Folder(f"{cls.__name__}Basis")
        first = folder.compile("first.gradus", optimizer=SGD)
        run([GRADUS, "train", first, *DATA, "--steps", "60", "--checkpoint", folder.at("first.safetensors"), "--checkpoint-every", "10steps",
             "--keep", "6"])
        kept = [folder.at(f"first.step{step}.safetensors") for step in range(10, 70, 10)]
        run([GRADUS, "basis", first, *kept, "--components", "4", "-o", folder.at("basis.safetensors")])
        cls.METHOD = {"dim_reduce": {"basis": folder.at("basis.safetensors")}}
        super().setUpClass()


if __name__ == "__main__":
    unittest.main()
