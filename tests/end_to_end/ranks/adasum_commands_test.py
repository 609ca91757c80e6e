"""AdaSum by the commands: the bits of threads and of processes, what a file is for, what inspect and bench say of it."""

import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]
from rank_runs import MPI, RanksTest, missing  # noqa: E402
from resumed_training import EVERYTHING, GRADUS, run  # noqa: E402


def adasum(**keys):
    return {"distribution": {"mode": "data_parallel", "reduce": "adasum", "adasum": keys}}


class Adasum(RanksTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, keys in (("gradients", {}), ("weights", {"of": "weights"}), ("model", {"per": "model"}),
                           ("within", {"within": 2}), ("host", {"within": "host"})):
            setattr(cls, name, cls.folder.compile(f"{name}.gradus", **EVERYTHING, **adasum(**keys)))
        fixed = {"distribution": {**adasum()["distribution"], "ranks": 3}}
        cls.three = cls.folder.compile("three.gradus", **EVERYTHING, **fixed)

    def expect_resumable(self, artifact, ranks):
        """A run in two parts has the bits of one, with equal states on all ranks."""
        how = ["--simulate-ranks", str(ranks), "--check-replicas", "5"]
        self.train(12, "whole", *how, artifact=artifact)
        self.train(6, "parts", *how, artifact=artifact)
        self.train(12, "parts", *how, artifact=artifact)
        self.expect_same_bits("whole", "parts")

    def test_three_ranks_combine_gradients(self):
        self.expect_resumable(self.gradients, 3)

    def test_ranks_combine_what_their_updates_change(self):
        self.expect_resumable(self.weights, 3)

    def test_ranks_combine_the_model_as_one_vector(self):
        self.expect_resumable(self.model, 2)

    def test_groups_combine_their_means(self):
        self.expect_resumable(self.within, 4)

    def test_ranks_of_one_host_share_their_mean(self):
        self.expect_resumable(self.host, 2)

    @unittest.skipIf(missing(), missing())
    def test_processes_have_the_bits_of_threads(self):
        for number, (artifact, ranks) in enumerate([(self.gradients, 3), (self.weights, 2), (self.within, 4)]):
            with self.subTest(artifact):
                os.environ.update(MPI)
                self.train(6, f"threads{number}", "--simulate-ranks", str(ranks), artifact=artifact)
                self.train(6, f"processes{number}", "--ranks", str(ranks), artifact=artifact)
                self.expect_same_bits(f"threads{number}", f"processes{number}")

    def test_ranks_that_fill_no_groups_are_refused(self):
        said = self.ends(self.words(6, "odd", "--simulate-ranks", "3", artifact=self.within))
        self.assertIn("3 ranks are no groups of 2, which adasum.within says; run it on a multiple of 2", said)

    def test_an_artifact_for_another_number_of_ranks_is_refused(self):
        said = self.ends(self.words(6, "two", "--simulate-ranks", "2", artifact=self.three))
        self.assertIn("is for 3 ranks (distribution.ranks), and runs on 2; run it on 3, or compile another with "
                      "--set distribution.ranks=2", said)
        self.train(6, "three", "--simulate-ranks", "3", artifact=self.three)

    def test_inspect_and_bench_tell_what_is_sent(self):
        def told(artifact):
            return json.loads(run([GRADUS, "inspect", artifact, "--ranks", "4", "--network", "1GB/s,50us", "--json"]))

        def sent(facts):
            graphs = facts["plans"][0]["graphs"]
            return next(graph for graph in graphs if graph["name"] == "train")["sums"]["bytes_sent"]

        # Products are added to what a sum sends: three f64 for each tensor, three times.
        combined, summed = sent(told(self.gradients)), sent(told(self.artifact))
        self.assertGreater(combined, summed)
        self.assertLess(combined, summed + 72 * 40)
        measured = json.loads(run([GRADUS, "bench", self.gradients, "--simulate-ranks", "2", "--seconds", "0.3", "--json"]))
        self.assertGreater(measured["sums"]["bytes_sent"], 0)


if __name__ == "__main__":
    unittest.main()
