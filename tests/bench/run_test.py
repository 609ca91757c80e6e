"""The bench compares only what was measured at the same speed of the machine."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import run
import workloads
from this_build import is_sanitized


class Machine(run.Probe):
    """A probe that has seen these speeds, without a process."""

    def __init__(self, seen):
        self.seen = seen


class Timed:
    """A worker with these times, each at its speeds."""

    def __init__(self, *times):
        self.times = times


FAST, SLOW, NO_AMX = [100.0, 50.0], [100.0, 20.0], 0.0


class States(unittest.TestCase):
    def test_a_probe_well_below_the_best_is_slow(self):
        machine = Machine([FAST] * 8 + [SLOW] * 2)
        self.assertEqual([machine.state(FAST), machine.state(SLOW)], ["FF", "FS"])

    def test_one_lucky_probe_does_not_make_the_others_slow(self):
        machine = Machine([FAST] * 19 + [[100.0, 90.0]])
        self.assertEqual(machine.state(FAST), "FF")

    def test_what_the_machine_lacks_is_left_out(self):
        machine = Machine([FAST + [NO_AMX]])
        self.assertEqual(machine.state(FAST + [NO_AMX]), "FF")

    def test_the_compared_state_is_one_that_all_workers_met(self):
        machine = Machine([FAST] * 5 + [SLOW] * 5)
        often_slow = Timed((1, SLOW), (1, SLOW), (1, SLOW), (1, FAST), (1, FAST))
        never_slow = Timed((1, FAST), (1, FAST))
        self.assertEqual(run.common_state([often_slow, never_slow], machine), "FF")


class Choice(unittest.TestCase):
    def names(self, only="", full_size=False):
        return [workload.name for workload in run.chosen(only, full_size)]

    def test_those_of_full_size_run_only_when_asked_for(self):
        self.assertIn("lenet5", self.names())
        self.assertNotIn("resnet50", self.names())
        self.assertNotIn("lenet5", self.names(full_size=True))
        self.assertEqual(self.names("resnet50"), ["resnet50", "resnet50-bf16"])
        self.assertEqual(self.names("resnet", full_size=True),
                         ["resnet18-cifar", "resnet50", "resnet18-cifar-bf16", "resnet50-bf16"])

    def test_each_of_full_size_runs_in_both_precisions(self):
        names = [name for name in self.names(full_size=True) if not name.startswith("adamw")]
        wide = [name for name in names if not name.endswith("-bf16")]
        self.assertEqual(sorted(names), sorted(wide + [f"{name}-bf16" for name in wide]))
        self.assertLessEqual({"gpt2-124m", "bert-base", "lstm", "unet", "mobilenet-v2", "convnext-atto", "regnetx-002",
                              "efficientnet-b0"}, set(wide))


    def test_the_optimizer_alone_runs_with_both_groups(self):
        for full_size in (False, True):
            self.assertEqual(self.names("adamw", full_size), ["adamw-30m", "adamw-30m-pieces"])


class Losses(unittest.TestCase):
    def compare(self, *losses, name="lstm"):
        run.compare_losses(workloads.BY_NAME[name], dict(zip(("gradus", "torch-eager", "jax"), losses)))

    def test_the_same_work_has_the_same_losses_up_to_rounding(self):
        self.compare([3.0, 2.0], [3.0, 2.01], [2.99, 2.0])

    def test_another_loss_is_other_work(self):
        with self.assertRaisesRegex(run.OtherWork, "step 3 has a loss of 2.0 in gradus and of 2.1 in jax"):
            self.compare([3.0, 2.0], [3.0, 2.0], [3.0, 2.1])

    def test_a_step_without_an_update_is_other_work(self):
        for name in ("lstm", "lstm-bf16"):
            with self.assertRaises(run.OtherWork):
                self.compare([2.302415, 2.295314], [2.302415, 2.302415], name=name)

    def test_16_bits_round_more(self):
        self.compare([3.0, 2.0], [3.0, 2.3], name="lstm-bf16")

    def test_what_is_not_a_number_is_no_equal_loss(self):
        with self.assertRaises(run.OtherWork):
            self.compare([3.0, 2.0], [3.0, float("nan")])

    def test_what_is_measured_stays_where_another_workload_fails(self):
        def bench(workload, _peers, _probe):
            if workload.name == "unet":
                raise run.OtherWork("unet: not the same work")
            return {"workload": workload.name}

        chosen = [workloads.BY_NAME[name] for name in ("lstm", "unet", "lenet5")]
        with tempfile.NamedTemporaryFile("r") as file, mock.patch.object(run, "bench", bench), mock.patch.object(run, "Probe"), \
                mock.patch.object(run, "say"):
            results, problems = run.bench_all(chosen, True, file.name)
            self.assertEqual(json.load(file), results)
        self.assertEqual([each["workload"] for each in results], ["lstm", "lenet5"])
        self.assertEqual(problems, ["unet: not the same work"])


class Turns(unittest.TestCase):
    def test_a_side_far_behind_stays_out(self):
        sides = {name: mock.Mock(times=[(ms, None), (2 * ms, None)]) for name, ms in
                 (("gradus", 10.0), ("torch-eager", 4.0), ("torch-compile", 8.0), ("jax", 8.5))}
        for name, side in sides.items():
            side.name = name
        self.assertEqual([side.name for side in run.keeping_up(list(sides.values()))], ["gradus", "torch-eager", "torch-compile"])


class Ratios(unittest.TestCase):
    def test_the_ratio_is_to_the_best_peer(self):
        result = {"frameworks": {"gradus": {"min_ms": 2.0}, "jax": {"min_ms": 8.0}, "torch-eager": {"min_ms": 6.0}}}
        self.assertEqual(run.ratio(result, "min_ms"), 3.0)

    def test_without_a_peer_there_is_no_ratio(self):
        self.assertIsNone(run.ratio({"frameworks": {"gradus": {"min_ms": 2.0}}}, "min_ms"))


class Streams(unittest.TestCase):
    def test_the_rate_of_an_optimizer_is_a_part_of_that_of_its_streams(self):
        text = run.streams_text({"streams": {"min_ms": 9.0, "median_ms": 9.5}, "huge_pages_cut": 512, "huge_pages_left": 3,
                                 "frameworks": {"gradus": {"min_ms": 10.0, "median_ms": 10.0}}})
        self.assertEqual(text, "; in-place update of the same streams 9.000 9.500 ms, 0.90 0.95 of its rate; 512 huge pages cut, 3 left")

    def test_a_network_has_none(self):
        self.assertEqual(run.streams_text({"frameworks": {}}), "")


@unittest.skipIf(is_sanitized(), "sanitizers take memory of their own")
class Pieces(unittest.TestCase):
    program = os.path.join(run.BUILD, "bin", "gradus_bench_pieces")

    def cut(self):
        """(huge pages cut, sizes of memory in KiB)"""
        pieces = subprocess.Popen([self.program, "64"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        _, cut, _ = pieces.stdout.readline().split()
        with open(f"/proc/{pieces.pid}/smaps_rollup") as file:
            sizes = {line.split()[0]: int(line.split()[1]) for line in file.readlines()[1:]}
        pieces.communicate("left\n")
        return int(cut), sizes

    def test_few_huge_pages_are_cut_and_little_memory_is_kept(self):
        # Those of 64 would mean that none was cut. The system may hold some at a moment, or make new ones meanwhile: they
        # stay whole then, though not each time.
        few = 2048 * 64 // 8
        tries = (self.cut() for _ in range(4))
        cut, sizes = next((found for found in tries if found[1]["Anonymous:"] < 4 * found[0] + 1024), self.cut())
        self.assertLessEqual(cut, 64)
        self.assertLess(sizes["AnonHugePages:"], few)
        self.assertGreaterEqual(sizes["Anonymous:"], 4 * cut)
        self.assertLess(sizes["Anonymous:"], 4 * cut + 1024)


if __name__ == "__main__":
    unittest.main()
