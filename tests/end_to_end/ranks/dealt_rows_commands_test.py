"""Ranks that share out the rows of DimReduce's basis: one file that any number of ranks goes on from, and a part of the basis in memory."""

import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import rank_runs  # noqa: E402
from rank_runs import SIMULATED, STARTED, missing  # noqa: E402
from resumed_training import DATA, EVAL, GRADUS, Folder, run  # noqa: E402

DIRECTIONS = 5
BASIS = "dim_reduce/basis/"


class DealtRows(rank_runs.RanksTest):
    @classmethod
    def setUpClass(cls):
        """The basis is of a run of one process. Two ranks have a row of zeros, of three one."""
        cls.folder = Folder(cls.__name__)
        first = cls.folder.compile("first.gradus", optimizer={"type": "sgd", "learning_rate": 0.05, "momentum": 0.9})
        cls.weights, cls.basis = cls.folder.at("first.safetensors"), cls.folder.at("basis.safetensors")
        run([GRADUS, "train", first, *DATA, "--steps", "64", "--checkpoint", cls.weights, "--checkpoint-every", "8steps", "--keep", "8"])
        steps = [cls.folder.at(name) for name in sorted(os.listdir(cls.folder.path)) if ".step" in name]
        run([GRADUS, "basis", first, *steps, "--components", str(DIRECTIONS), "-o", cls.basis])
        cls.artifact = cls.with_ranks(2, True)

    @classmethod
    def with_ranks(cls, ranks, dealt, *targets):
        name = f"net{ranks}{dealt}{len(targets)}.gradus"
        if not os.path.exists(cls.folder.at(name)):
            cls.folder.compile(name, targets, optimizer={"type": "sgd", "learning_rate": 0.001, "momentum": 0.9},
                               dim_reduce={"basis": cls.basis, "dealt": dealt},
                               distribution={"mode": "data_parallel", "ranks": ranks})
        return cls.folder.at(name)

    def begin(self, steps, name, *more, artifact=None):
        return self.train(steps, name, "--init", self.weights, *more, artifact=artifact)

    def accepted(self, name):
        """How many steps were accepted, which is the last number of a checkpoint's counter."""
        data = self.read(name)
        size = int.from_bytes(data[:8], "little")
        begin, end = json.loads(data[8:8 + size])["dim_reduce/accepted"]["data_offsets"]
        return int.from_bytes(data[8 + size + begin:8 + size + end], "little")

    def test_a_run_that_goes_on_has_the_bits_of_a_whole_one(self):
        self.begin(16, "whole", *SIMULATED, "--check-replicas", "4")
        self.begin(6, "cut", *SIMULATED)
        self.train(16, "cut", *SIMULATED)
        self.expect_same_bits("whole", "cut")
        self.assertGreater(self.accepted("whole"), 0)

    @unittest.skipIf(missing(), missing())
    def test_processes_have_the_bits_of_simulated_ranks_and_go_on(self):
        self.begin(16, "simulated", *SIMULATED)
        self.begin(6, "started", *STARTED)
        self.train(16, "started", *STARTED)
        self.expect_same_bits("simulated", "started")

    def test_a_checkpoint_goes_on_on_other_ranks_and_with_a_whole_basis(self):
        """The file knows the hash of the whole basis, and no number of ranks."""
        self.begin(6, "first", *SIMULATED)
        for ranks, dealt in ((3, True), (2, False)):
            name = f"moved{ranks}"
            with open(self.at(f"{name}.safetensors"), "wb") as file:
                file.write(self.read("first"))
            self.train(10, name, "--simulate-ranks", str(ranks), artifact=self.with_ranks(ranks, dealt))
            self.assertGreaterEqual(self.accepted(name), self.accepted("first"))

    def test_another_number_of_ranks_is_refused(self):
        self.assertIn("is for 2 ranks (distribution.ranks), and runs on 3", self.ends(self.words(4, "wrong", "--simulate-ranks", "3")))

    def test_one_process_evaluates(self):
        self.begin(6, "tested", *SIMULATED, *EVAL, "--eval-every", "3steps")
        said = run([GRADUS, "evaluate", self.artifact, "--data", EVAL[1], "--checkpoint", self.at("tested.safetensors")])
        self.assertRegex(said, "loss")

    def test_inspect_tells_the_rows_of_a_rank(self):
        def basis(artifact):
            facts = json.loads(run([GRADUS, "inspect", artifact, "--json"]))
            return facts, [state for state in facts["states"] if state["name"].startswith(BASIS)]

        dealt, parts = basis(self.artifact)
        plain, wholes = basis(self.with_ranks(2, False))
        self.assertEqual(len(parts), 3)
        for part, whole in zip(parts, wholes):
            self.assertEqual(part["bytes"] * DIRECTIONS, whole["bytes"] * 3)
            self.assertEqual(part["whole"], whole["type"])
        saved = sum(whole["bytes"] - part["bytes"] for part, whole in zip(parts, wholes))
        self.assertLessEqual(abs(plain["plans"][0]["state_bytes"] - dealt["plans"][0]["state_bytes"] - saved), 64 * len(parts))
        self.assertEqual(dealt["weights_bytes"], plain["weights_bytes"])
        self.assertRegex(run([GRADUS, "inspect", self.artifact, "--states"]), rf"{BASIS}fc2.weight +3x24x10xf32 of 5x24x10xf32")

    def test_an_artifact_is_compiled_again_without_the_file(self):
        """It has all rows, whatever a rank has of them."""
        target, again, hidden = "cpu:x86-64-v2", self.folder.at("again.gradus"), self.basis + ".moved"
        known = self.with_ranks(2, True, target)
        os.rename(self.basis, hidden)
        try:
            run([GRADUS, "compile", self.artifact, "--target", target, "-o", again])
        finally:
            os.rename(hidden, self.basis)
        self.assertEqual(self.folder.bytes(os.path.basename(known)), self.folder.bytes("again.gradus"))
        self.begin(4, "again", *SIMULATED, artifact=again)

    def test_the_number_of_ranks_has_to_be_said(self):
        said = self.ends([GRADUS, "compile", self.folder.at("net.mlir"), "--set", "loss=softmax_cross_entropy", "--set",
                          "distribution.mode=data_parallel", f"--dim-reduce=basis={self.basis},dealt=true", "-o", self.at("any.gradus")])
        self.assertIn("dim_reduce.dealt is true, which needs the number of processes that keep a part of the basis each: set distribution.ranks", said)


if __name__ == "__main__":
    unittest.main()
