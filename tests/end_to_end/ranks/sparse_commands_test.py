"""Sparse sums by the commands: the bits of threads and of processes, what each rank keeps in checkpoints, accuracy."""

import json
import os
import shutil
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import rank_runs  # noqa: E402
from rank_runs import MPI, SIMULATED, STARTED, missing  # noqa: E402
from resumed_training import DATA, DIGITS, EVAL, EVERYTHING, GRADUS, run  # noqa: E402


def sparse(**keys):
    return {"distribution": {"mode": "data_parallel", "ranks": 2, "reduce": "sparse_topk", "ratio": 0.05, **keys}}


SGD = {"optimizer": {"type": "sgd", "learning_rate": 0.05, "momentum": 0.9, "nesterov": True}}
THRESHOLD = {"reduce": "sparse_threshold", "ratio": None, "threshold": 0.001, "capacity": 0.1}


class Sparse(rank_runs.RanksTest):
    RECIPE = {**EVERYTHING, **sparse()}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.artifacts = {
            "largest": cls.artifact,
            "threshold": cls.folder.compile("threshold.gradus", **EVERYTHING, **sparse(**THRESHOLD)),
            "momentum": cls.folder.compile("momentum.gradus", **SGD, **sparse(momentum_correction=True, warmup=4)),
        }

    def test_a_run_that_goes_on_has_the_bits_of_a_whole_one(self):
        for name, artifact in self.artifacts.items():
            with self.subTest(name):
                self.train(14, f"{name}.whole", *SIMULATED, "--check-replicas", "5", artifact=artifact)
                for steps in (2, 7, 14):
                    self.train(steps, f"{name}.cut", *SIMULATED, artifact=artifact)
                self.expect_same_bits(f"{name}.whole", f"{name}.cut")
                self.assertIn(b"ranks/1/kept/residual/fc1.weight", self.read(f"{name}.whole"))

    @unittest.skipIf(missing(), missing())
    def test_processes_have_the_bits_of_threads(self):
        os.environ.update(MPI)
        for name, artifact in self.artifacts.items():
            with self.subTest(name):
                self.train(7, f"{name}.simulated", *SIMULATED, artifact=artifact)
                self.train(7, f"{name}.started", *STARTED, artifact=artifact)
                self.expect_same_bits(f"{name}.simulated", f"{name}.started")

    def test_another_number_of_ranks_is_refused(self):
        said = self.ends(self.words(6, "three", "--simulate-ranks", "3"))
        self.assertIn("is for 2 ranks (distribution.ranks), and runs on 3", said)
        three = self.folder.compile("three.gradus", **EVERYTHING, **sparse(ranks=3))
        self.train(6, "moved", *SIMULATED)
        said = self.ends(self.words(9, "moved", "--simulate-ranks", "3", artifact=three))
        self.assertIn("was saved on 2 ranks, each of which has states of its own, such as kept/", said)
        self.assertIn("and there are 3 now: go on with 2, or begin with its weights, without them (--init)", said)

    def test_feedback_is_not_switched_on_in_the_middle_of_a_run(self):
        lost = self.folder.compile("lost.gradus", **EVERYTHING, **sparse(error_feedback=False))
        self.train(6, "run", *SIMULATED, artifact=lost)
        said = self.ends(self.words(9, "run", *SIMULATED))
        self.assertIn("lacks kept/residual/", said)
        self.assertIn("--init", said)

    def test_any_number_of_ranks_evaluates(self):
        self.train(6, "some", *SIMULATED)

        def loss(*ranks):
            said = run([GRADUS, "evaluate", self.artifact, "--checkpoint", self.at("some.safetensors"), "--data", EVAL[1], "--json", *ranks])
            return json.loads(said.splitlines()[-1])["loss"]

        self.assertAlmostEqual(loss(), loss(*SIMULATED), places=5)
        self.assertAlmostEqual(loss(), loss("--simulate-ranks", "3"), places=5)

    def test_the_best_and_kept_states_have_what_ranks_keep(self):
        tested = [*SIMULATED, *EVAL, "--eval-every", "3steps", "--best", "loss"]
        self.train(9, "whole", *tested, "--checkpoint-every", "3steps", "--keep", "9")
        self.assertIn(b"ranks/1/kept/residual/fc2.weight", self.read("whole.best"))
        shutil.copy(self.at("whole.step6.safetensors"), self.at("again.safetensors"))
        self.train(9, "again", *tested)
        self.expect_same_bits("whole", "again")

    def test_inspect_tells_what_is_sent(self):
        def sent(artifact):
            facts = json.loads(run([GRADUS, "inspect", artifact, "--ranks", "2", "--network", "1GB/s,50us", "--json"]))
            graphs = facts["plans"][0]["graphs"]
            return next(graph for graph in graphs if graph["name"] == "train")["sums"]["bytes_sent"]

        whole = self.folder.compile("whole.gradus", **EVERYTHING, distribution={"mode": "data_parallel"})
        # 5 % of the elements, with an index each, once instead of a sum's way there and back.
        self.assertLess(sent(self.artifact), 0.12 * sent(whole) + 200)

    def accuracy(self, name, seed, *settings):
        artifact, state = self.at(f"{name}{seed}.gradus"), self.at(f"{name}{seed}.safetensors")
        log = self.at(f"{name}{seed}.jsonl")
        words = [word for setting in ("distribution.mode=data_parallel", "distribution.ranks=2", f"seed={seed}", *settings)
                 for word in ("--set", setting)]
        run([GRADUS, "compile", os.path.join(DIGITS, "lenet.onnx"), "--recipe", os.path.join(HERE, "sparse_digits.json"),
             "--dim", "batch=16", *words, "-o", artifact])
        run([GRADUS, "train", artifact, *DATA, *EVAL, "--epochs", "20", "--checkpoint", state, "--log", log, *SIMULATED])
        said = run([GRADUS, "evaluate", artifact, "--checkpoint", state, "--data", EVAL[1], "--json", *SIMULATED])
        return json.loads(said.splitlines()[-1])["accuracy"]

    def test_one_percent_of_digits_is_as_accurate(self):
        for seed in (0, 1, 2):
            with self.subTest(seed=seed):
                whole = self.accuracy("whole", seed)
                part = self.accuracy("part", seed, "distribution.reduce=sparse_topk", "distribution.ratio=0.01",
                                     "distribution.momentum_correction=true")
                self.assertGreater(whole, 0.98)
                self.assertGreaterEqual(part, whole - 0.01)


if __name__ == "__main__":
    unittest.main()
