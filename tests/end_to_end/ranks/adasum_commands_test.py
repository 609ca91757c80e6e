"""AdaSum by the commands: the bits of threads and of processes, what a file is for, what inspect and bench say of it."""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import commands_test  # noqa: E402
from rank_runs import MPI, RanksTest, missing  # noqa: E402
from resumed_training import DATA, EVAL, EVERYTHING, GRADUS, run  # noqa: E402


def adasum(**keys):
    return {"distribution": {"mode": "data_parallel", "reduce": "adasum", "adasum": keys}}


def train_of(facts):
    """The bytes that a rank sends in a step, by what inspect prints."""
    return next(graph for graph in facts["plans"][0]["graphs"] if graph["name"] == "train")["sums"]["bytes_sent"]


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

    def test_what_some_ranks_train_runs_on_any(self):
        """Only training asks for so many: evaluation, prediction and time do not."""
        for artifact, ranks in (self.three, 3), (self.within, 4):
            state = self.at("state.safetensors")
            self.train(3, "state", "--overwrite", "--simulate-ranks", str(ranks), artifact=artifact)
            evaluate = [GRADUS, "evaluate", artifact, "--checkpoint", state, "--data", EVAL[1]]
            alone = run(evaluate)
            self.assertIn("accuracy: ", alone)
            self.assertIn(alone, run([*evaluate, "--simulate-ranks", "3"]))
            run([GRADUS, "predict", artifact, "--checkpoint", state, "--data", EVAL[1], "-o", self.at(f"{ranks}.npz")])
            run([GRADUS, "compare", artifact, "--device", "cpu"])
            os.remove(state)
        bench = [GRADUS, "bench", self.three, "--graph", "train", "--seconds", "0.1"]
        run(bench)
        said = self.ends([*bench, "--simulate-ranks", "2"])
        self.assertIn("is for 3 ranks (distribution.ranks), and runs on 2", said)
        said = self.ends([GRADUS, "train", self.three, *DATA, "--steps", "1"])
        self.assertIn("is for 3 ranks (distribution.ranks), and runs on 1", said)

    def test_ranks_that_are_one_group_are_told(self):
        for artifact, ranks, key in (self.within, 2, "2"), (self.host, 3, '"host"'):
            said = self.train(3, key.strip('"'), "--simulate-ranks", str(ranks), artifact=artifact)
            self.assertEqual(said.count(f"note: distribution.adasum.within is {key}, and all {ranks} ranks are one such group: "
                                        "they train by its mean, and AdaSum combines nothing"), 1, said)
        self.assertNotIn("one such group", self.train(3, "four", "--simulate-ranks", "4", artifact=self.within))

    def test_inspect_and_bench_tell_what_is_sent(self):
        network = ["--network", "1GB/s,50us", "--json"]

        def told(artifact):
            return json.loads(run([GRADUS, "inspect", artifact, "--ranks", "4", *network]))

        # What takes part is no whole step of an artifact that accumulates.
        for keys in {}, {"per": "model"}, {"within": 2}, {"of": "weights"}:
            one = self.folder.compile("one.gradus", **adasum(**keys))
            predicted = json.loads(run([GRADUS, "bench", one, "--seconds", "0.1", "--ranks", "4..4", *network]))["prediction"]
            self.assertEqual(predicted["steps"][0]["bytes_sent"], train_of(told(one)), keys)
        said = self.ends([GRADUS, "bench", self.folder.compile("two.gradus", **adasum(within=2)), "--seconds", "600", "--ranks",
                          "2..3", *network])
        self.assertIn("3 ranks are no groups of 2", said)

        # It is about what a sum sends, whose parts are rounded up: products are few numbers (GroupRounds' tests count them).
        combined, summed = train_of(told(self.gradients)), train_of(told(self.artifact))
        self.assertLess(abs(combined - summed), 0.01 * summed)
        measured = json.loads(run([GRADUS, "bench", self.gradients, "--simulate-ranks", "2", "--seconds", "0.3", "--json"]))
        self.assertGreater(measured["sums"]["bytes_sent"], 0)


class OfKeys(RanksTest):
    KEYS = {}

    @classmethod
    def setUpClass(cls):
        cls.RECIPE = {**EVERYTHING, **adasum(**cls.KEYS)}
        super().setUpClass()


class EndsOfGradients(OfKeys):
    """Ranks end together in the middle of what groups combine as in that of a sum."""
    interrupted = commands_test.SimulatedRanks.interrupted
    test_a_signal_ends_all = commands_test.SimulatedRanks.test_a_signal_ends_all


class EndsOfWeights(EndsOfGradients):
    KEYS = {"of": "weights"}


class EndsOfGroups(EndsOfGradients):
    KEYS = {"within": 2}


@unittest.skipIf(missing(), missing())
class KilledOfGradients(OfKeys):
    mpirun = commands_test.StartedRanks.mpirun
    step = commands_test.StartedRanks.step
    children = commands_test.StartedRanks.children
    kill_rank = commands_test.StartedRanks.kill_rank
    expect_named = commands_test.StartedRanks.expect_named
    interrupted = commands_test.StartedRanks.interrupted
    test_a_rank_that_is_killed_is_named = commands_test.StartedRanks.test_a_rank_that_is_killed_is_named
    test_sigterm_saves_the_state = commands_test.StartedRanks.test_sigterm_saves_the_state


class KilledOfWeights(KilledOfGradients):
    KEYS = {"of": "weights"}


class KilledOfModel(KilledOfGradients):
    KEYS = {"per": "model"}


if __name__ == "__main__":
    unittest.main()
