"""Ranks that share out what the optimizer remembers: checkpoints hold whole tensors, whatever the number of ranks."""

import json
import os
import re
import struct
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import rank_runs  # noqa: E402
from rank_runs import SIMULATED, STARTED, missing  # noqa: E402
from resumed_training import EVAL, GRADUS, run  # noqa: E402


def distribution(ranks, zero):
    return {"mode": "data_parallel", "ranks": ranks, "zero": zero}


class Zero(rank_runs.RanksTest):
    RECIPE = {"optimizer": {"type": "adamw", "learning_rate": 0.001}, "ema": {"decay": 0.9}, "distribution": distribution(2, 1)}

    def with_ranks(self, ranks, zero):
        name = f"net{ranks}{zero}.gradus"
        if not os.path.exists(self.folder.at(name)):
            self.folder.compile(name, **{**self.RECIPE, "distribution": distribution(ranks, zero)})
        return self.folder.at(name)

    def tensors(self, name):
        """Type, shape and bytes of each tensor of a checkpoint."""
        data = self.read(name)
        size = struct.unpack("<Q", data[:8])[0]
        found = json.loads(data[8:8 + size])
        found.pop("__metadata__")
        start = 8 + size
        return {tensor: (facts["dtype"], facts["shape"], data[start + facts["data_offsets"][0]:start + facts["data_offsets"][1]])
                for tensor, facts in found.items()}

    def expect_same_tensors(self, one, other):
        first, second = self.tensors(one), self.tensors(other)
        self.assertEqual(sorted(first), sorted(second))
        self.assertIn("adamw/first_moment", " ".join(first))
        for tensor, value in first.items():
            self.assertTrue(value == second[tensor], f"{tensor} differs between {one} and {other}")

    def test_a_checkpoint_has_the_tensors_of_ranks_that_share_nothing_out(self):
        self.train(12, "zero", *SIMULATED, "--check-replicas", "4")
        self.train(12, "plain", *SIMULATED, artifact=self.with_ranks(2, 0))
        self.expect_same_tensors("zero", "plain")

    def test_a_run_that_goes_on_has_the_bits_of_a_whole_one(self):
        self.train(24, "whole", *SIMULATED)
        self.train(10, "cut", *SIMULATED)
        self.train(24, "cut", *SIMULATED)
        self.expect_same_bits("whole", "cut")

    def test_a_run_goes_on_with_other_ranks_and_without_zero(self):
        """What is dealt out and gathered again is what was there."""
        self.train(10, "first", *SIMULATED)
        for ranks, zero in ((4, 1), (3, 1), (2, 0)):
            name = f"moved{ranks}{zero}"
            with open(self.at(f"{name}.safetensors"), "wb") as file:
                file.write(self.read("first"))
            self.train(10, name, "--simulate-ranks", str(ranks), artifact=self.with_ranks(ranks, zero))
            self.expect_same_tensors("first", name)
        self.train(14, "moved41", "--simulate-ranks", "4", artifact=self.with_ranks(4, 1))

    @unittest.skipIf(missing(), missing())
    def test_processes_have_the_bits_of_simulated_ranks(self):
        self.train(12, "simulated", *SIMULATED)
        self.train(12, "started", *STARTED)
        self.expect_same_bits("simulated", "started")

    def test_tests_and_best_states_have_whole_tensors(self):
        self.train(12, "tested", *SIMULATED, *EVAL, "--eval-every", "4steps", "--best", "loss")
        one = run([GRADUS, "evaluate", self.artifact, "--data", EVAL[1], "--checkpoint", self.at("tested.safetensors")])
        self.assertRegex(one, "loss")
        best = self.tensors("tested.best")
        self.assertEqual({name: value[1] for name, value in best.items()},
                         {name: value[1] for name, value in self.tensors("tested").items()})

    def test_inspect_tells_the_state_of_a_rank(self):
        zero = json.loads(run([GRADUS, "inspect", self.artifact, "--json"]))
        plain = json.loads(run([GRADUS, "inspect", self.with_ranks(2, 0), "--json"]))
        self.assertEqual(zero["ranks"], 2)
        whole = {state["name"]: state["bytes"] for state in plain["states"]}
        parts = [state for state in zero["states"] if "whole" in state]
        self.assertTrue(parts)
        for state in parts:
            self.assertLessEqual(state["bytes"], whole[state["name"]] / 2 + 64)
        self.assertLess(zero["plans"][0]["state_bytes"], plain["plans"][0]["state_bytes"])
        self.assertLessEqual(zero["plans"][0]["arena_bytes"], plain["plans"][0]["arena_bytes"])
        said = run([GRADUS, "inspect", self.artifact, "--states"])
        self.assertRegex(said, rf"trains on 2 ranks; each has a part of {len(parts)} states")
        self.assertTrue(re.search(r"adamw/first_moment/\S+ +\d+xf32 of \d", said), said)

    def test_another_number_of_ranks_is_refused(self):
        self.assertIn("is for 2 ranks (distribution.ranks), and runs on 3", self.ends(self.words(4, "wrong", "--simulate-ranks", "3")))

    def test_the_number_of_ranks_has_to_be_said(self):
        said = self.ends([GRADUS, "compile", self.folder.at("net.mlir"), "--set", "loss=softmax_cross_entropy", "--set",
                          "distribution.mode=data_parallel", "--set", "distribution.zero=1", "-o", self.at("any.gradus")])
        self.assertIn("distribution.zero needs distribution.ranks", said)


if __name__ == "__main__":
    unittest.main()
