"""Training and evaluation on ranks: the bits of simulated ones, the figures of one process, and ends that all share."""

import array
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import rank_runs  # noqa: E402
import resumed_training  # noqa: E402
from rank_runs import MODE, MPI, SECONDS, SIMULATED, STARTED, missing  # noqa: E402
from resumed_training import BUILD, DATA, DIGITS, EVAL, EVERYTHING, GRADUS, RECIPE, Folder, run, wait_for  # noqa: E402

# Runs the words behind it, on rank 1 with those that FIRST -> SECOND gives.
ON_RANK_1 = """#!/bin/sh
first=$1 second=$2; shift 2
if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then
  for word; do shift; [ "$word" = "$first" ] && word=$second; set -- "$@" "$word"; done
fi
exec "$@"
"""
# Runs the words behind the first one, and keeps the exit code in a file of that name and the rank's number.
KEEPING_CODE = """#!/bin/sh
name=$1; shift
"$@"
code=$?
echo $code >"$name.$OMPI_COMM_WORLD_RANK"
exit $code
"""


def write_blank(path, samples=1 << 20):
    """So many black images of digits, whose evaluation takes seconds; the file has holes and takes no disk."""
    pixels, labels = samples * 28 * 28, samples * 8
    head = json.dumps({"image": {"dtype": "U8", "shape": [samples, 1, 28, 28], "data_offsets": [0, pixels]},
                       "label": {"dtype": "I64", "shape": [samples], "data_offsets": [pixels, pixels + labels]}}).encode()
    with open(path, "wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        file.truncate(8 + len(head) + pixels + labels)


def handles_signals(pid):
    """Whether a process has a handler for SIGUSR1, as commands on ranks have while they run."""
    with open(f"/proc/{pid}/status") as file:
        return int(re.search("SigCgt:\t([0-9a-f]+)", file.read())[1], 16) >> (signal.SIGUSR1 - 1) & 1


def states(path):
    """The tensors of a checkpoint by name, f32 ones as numbers."""
    with open(path, "rb") as file:
        head = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    return {name: array.array("f", data[slice(*tensor["data_offsets"])])
            for name, tensor in head.items() if name != "__metadata__" and tensor["dtype"] == "F32"}


class SimulatedRanks(rank_runs.RanksTest):
    def test_two_ranks_are_one_process_with_twice_the_batch(self):
        small = resumed_training.MODEL
        resumed_training.MODEL = small.replace("32x", "64x")
        try:
            large = self.folder.compile("large.gradus", **EVERYTHING)
        finally:
            resumed_training.MODEL = small
        self.train(21, "one", artifact=large)
        self.train(21, "two", *SIMULATED)
        one, two = states(self.at("one.safetensors")), states(self.at("two.safetensors"))
        self.assertEqual(one.keys(), two.keys())
        for name, values in one.items():
            if name.startswith("accumulation/"):  # A rank has the sums of its own samples.
                continue
            apart = max(abs(a - b) for a, b in zip(values, two[name]))
            self.assertLess(apart, 1e-5 * max(1, *map(abs, values)), name)
        losses = [[line["loss"] for line in self.folder.log(self.at(f"{name}.jsonl")) if "loss" in line]
                  for name in ("one", "two")]
        self.assertEqual(len(losses[0]), 21)
        for a, b in zip(*losses):
            self.assertLess(abs(a - b), 1e-5)

    def test_a_resumed_run_has_the_bits_of_one(self):
        self.train(36, "whole", *SIMULATED)
        self.train(24, "parts", *SIMULATED)
        self.train(36, "parts", *SIMULATED)
        self.expect_same_bits("whole", "parts")

    def test_a_run_on_other_ranks_with_the_same_batch_of_all_goes_on_without_a_warning(self):
        with open(self.at("recipe.json"), "w") as file:
            json.dump({**RECIPE, **MODE, "loss": {"type": "softmax_cross_entropy"}}, file)
        for batch in (16, 32):
            run([GRADUS, "compile", os.path.join(DIGITS, "lenet.onnx"), "--recipe", self.at("recipe.json"),
                 "--dim", f"batch={batch}", "-o", self.at(f"{batch}.gradus")])
        self.train(4, "net", *SIMULATED, artifact=self.at("16.gradus"))
        said = self.train(8, "net", artifact=self.at("32.gradus"))
        self.assertNotIn("warning: ", said)
        said = self.train(12, "net", *SIMULATED, artifact=self.at("16.gradus"))
        self.assertNotIn("warning: ", said)
        said = self.train(16, "net", artifact=self.at("16.gradus"))
        self.assertIn("warning: the checkpoint was trained with a batch of 32, now it is 16: ", said)
        self.assertNotIn("another recipe", said)

    def test_evaluation_prints_what_one_process_prints(self):
        self.train(4, "net", *SIMULATED)
        command = [GRADUS, "evaluate", self.artifact, "--checkpoint", self.at("net.safetensors"), "--data", EVAL[1]]
        alone = run(command)
        self.assertTrue(alone.startswith("data: "), alone)
        self.assertIn("accuracy: ", alone)
        for ranks in (1, 2, 3):
            said = run([*command, "--simulate-ranks", str(ranks)])
            self.assertEqual(said, f"ranks: {ranks}, simulated by threads of this process\n{alone}")

    def test_an_artifact_for_one_process_is_refused(self):
        one = self.folder.compile("one.gradus")
        said = self.ends(self.words(4, "net", *SIMULATED, artifact=one))
        self.assertIn("was compiled to train on one process, and 2 run it; compile with --set "
                      "distribution.mode=data_parallel", said)
        self.assertFalse(os.path.exists(self.at("net.safetensors")))

    def test_a_nan_that_all_see_is_told_by_the_first(self):
        self.assertEqual(len({self.nan("--simulate-ranks", "3") for _ in range(5)}), 1)

    def nan(self, *ranks):
        artifact = self.folder.compile("nan.gradus", **MODE, optimizer={"type": "sgd", "learning_rate": 1e38})
        said = self.ends(self.words(40, "nan", "--overwrite", *ranks, artifact=artifact), code=1)
        self.assertRegex(said, r"(?m)^gradus: rank 0 \(.*\): step \d+: loss is (?:nan|inf); nothing was saved after the last checkpoint")
        return said

    def test_a_signal_ends_all(self):
        self.interrupted(SIMULATED, lambda process: process.send_signal(signal.SIGINT))

    def test_a_signal_ends_evaluation(self):
        self.end_evaluation([], ["--simulate-ranks", "3"], lambda process: [process.pid],
                            lambda process, ranks: process.send_signal(signal.SIGINT))

    def end_evaluation(self, launcher, words, ranks_of, ask):
        """Asks for the end of an evaluation once all processes of ranks would handle it; returns the line."""
        data = self.at("blank.safetensors")
        write_blank(data)
        process = subprocess.Popen([*launcher, GRADUS, "evaluate", self.artifact, "--data", data, *words],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **MPI})
        ranks, end = [], time.monotonic() + SECONDS
        while not ranks or not all(map(handles_signals, ranks)):
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), end)
            ranks = ranks_of(process)
        ask(process, ranks)
        printed, said = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 130, said)
        self.assertNotIn("accuracy", printed)
        lines = re.findall("^gradus: .*", said, re.M)
        self.assertEqual(len(lines), 1, said)
        self.assertRegex(lines[0], r"^gradus: rank \d \(.*\): interrupted before all samples were evaluated, so there are no figures$")
        return lines[0]

    def interrupted(self, ranks, ask, launcher=(), steps=1200):
        """Asks a run to end, and goes on with it as it says; in the bits of one that was left alone."""
        self.train(steps, "whole", *SIMULATED)
        # Saving makes it last longer than until it is asked.
        command = [*launcher, *self.words(steps, "net", "--checkpoint-every", "1steps", *ranks)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, **MPI})
        wait_for(self.at("net.safetensors"), process)
        ask(process)
        said = process.communicate(timeout=SECONDS)[1]
        self.assertEqual(process.returncode, 130, said)
        found = re.findall(r"^gradus: interrupted after step \d+ of \d+; continue with: (.*)", said, re.M)
        self.assertEqual(len(found), 1, said)
        run(["bash", "-c", found[0]], **MPI)
        self.expect_same_bits("whole", "net")
        return found[0]


@unittest.skipIf(missing(), missing())
class StartedRanks(rank_runs.RanksTest):
    interrupted = SimulatedRanks.interrupted
    end_evaluation = SimulatedRanks.end_evaluation
    nan = SimulatedRanks.nan

    def setUp(self):
        self.script = self.at("on_rank_1.sh")
        with open(self.script, "w") as file:
            file.write(ON_RANK_1)
        os.chmod(self.script, 0o755)

    def mpirun(self, *words, ranks=2):
        return ["mpirun", "--quiet", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), *words]

    def other_on_rank_1(self, first, second, words):
        return self.ends(self.mpirun(self.script, first, second, *words), **MPI)

    def test_processes_have_the_bits_of_threads(self):
        self.train(24, "started", *STARTED)
        self.train(24, "simulated", *SIMULATED)
        self.expect_same_bits("started", "simulated")

    def test_evaluation_prints_what_one_process_prints(self):
        self.train(4, "net", *SIMULATED)
        command = [GRADUS, "evaluate", self.artifact, "--checkpoint", self.at("net.safetensors"), "--data", EVAL[1],
                   "--json"]
        alone = json.loads(run(command))
        self.assertEqual(alone["ranks"], 1)
        line, *_ = run([*command, "--ranks", "3"]).splitlines()
        self.assertEqual(json.loads(line), {**alone, "ranks": 3})
        first, rest = run([*command[:-1], "--ranks", "3"]).split("\n", 1)
        self.assertRegex(first, r"^ranks: 3 processes on \S+$")
        self.assertTrue(rest.startswith(run(command[:-1])), rest)

    def test_other_data_is_refused(self):
        said = self.other_on_rank_1(DATA[1], EVAL[1], self.words(4, "net"))
        self.assertRegex(said, r"the number of samples to train on is \d+ on rank 0 \(.*\), and \d+ on rank 1 \(")
        evaluate = [GRADUS, "evaluate", self.artifact, "--data", DATA[1]]
        said = self.other_on_rank_1(DATA[1], EVAL[1], evaluate)
        self.assertRegex(said, r"the number of samples to test on is \d+ on rank 0 \(.*\), and \d+ on rank 1 \(")

    def test_another_artifact_is_refused(self):
        other = self.folder.compile("other.gradus", **{**EVERYTHING, **MODE, "seed": 4})
        said = self.other_on_rank_1(self.artifact, other, self.words(4, "net"))
        self.assertRegex(said, r"seed in the artifact's recipe is 3 on rank 0 \(.*\), and 4 on rank 1 \(")

    def test_an_artifact_for_one_process_is_refused(self):
        one = self.folder.compile("one.gradus")
        said = self.ends(self.words(4, "net", *STARTED, artifact=one))
        self.assertIn("was compiled to train on one process, and 2 run it", said)

    def test_another_build_is_refused(self):
        """Its program differs in the number of its sources."""
        with open(GRADUS, "rb") as file:
            program, count = re.subn(rb"\(sources [0-9a-f]{12}\)", b"(sources 0123456789ab)", file.read())
        self.assertEqual(count, 1)
        other = self.at("other_gradus")
        with open(other, "wb") as file:
            file.write(program)
        os.chmod(other, 0o755)
        said = self.ends(self.mpirun(self.script, GRADUS, other, *self.words(4, "net"), ranks=3),
                         GRADUS_MPI_LIBRARY=os.path.join(BUILD, "lib", "libgradus_mpi.so"), **MPI)
        self.assertRegex(said, r"gradus: rank 1 \(.*\) runs Gradus \S+ \(sources 0123456789ab\), and rank 0 \(.*\) runs Gradus \S+ "
                               r"\(sources [0-9a-f]{12}\): start the same build on all hosts\n")

    def test_a_signal_to_all_ends_evaluation(self):
        self.end_evaluation([], STARTED, lambda process: self.ranks(process, 2),
                            lambda process, ranks: process.send_signal(signal.SIGTERM))

    def test_a_signal_to_one_rank_ends_evaluation_on_all(self):
        said = self.end_evaluation(self.mpirun(ranks=3), [], lambda process: self.ranks(process, 3),
                                   lambda process, ranks: os.kill(ranks[1], signal.SIGINT))
        self.assertTrue(said.startswith("gradus: rank 1 "), said)

    def ranks(self, process, count):
        """The processes of ranks that a process has started, by rank; none before all of them run."""
        found, left = {}, [process.pid]
        while left:
            pid = left.pop()
            try:
                left += self.children(pid)
                with open(f"/proc/{pid}/environ") as file:
                    rank = re.search("OMPI_COMM_WORLD_RANK=([0-9]+)\0", file.read())
                if rank and os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "gradus":
                    found[int(rank[1])] = pid
            except OSError:  # It is no more.
                pass
        return [found[rank] for rank in range(count)] if len(found) == count else []

    def test_what_another_number_was_started_of_is_refused(self):
        said = self.ends(self.mpirun(*self.words(4, "net", "--ranks", "3")), **MPI)
        self.assertIn("--ranks 3: a launcher has started 2 processes (OMPI_COMM_WORLD_SIZE); leave --ranks out", said)
        said = self.ends(self.mpirun(*self.words(4, "net", "--simulate-ranks", "2")), **MPI)
        self.assertIn("--simulate-ranks 2: a launcher has started 2 processes", said)

    def test_a_mistake_in_the_words_is_said_once(self):
        self.assertIn("unknown option '--dta'", self.ends(self.mpirun(GRADUS, "train", self.artifact, "--dta", "x"), **MPI))
        self.assertIn("unknown option '--dta'", self.ends([GRADUS, "train", self.artifact, "--dta", "x", *STARTED]))
        self.assertIn("no.npz", self.ends([GRADUS, "train", self.artifact, "--data", "no.npz", *STARTED]))

    def test_sigterm_saves_the_state(self):
        self.interrupted(STARTED, lambda process: process.send_signal(signal.SIGTERM))

    def test_the_launchers_words_go_on(self):
        """mpirun passes SIGUSR1 on to its processes."""
        said = self.interrupted([], lambda process: process.send_signal(signal.SIGUSR1), launcher=self.mpirun())
        self.assertTrue(said.startswith("mpirun --quiet "), said)

    def test_a_nan_that_all_see_is_told_by_the_first(self):
        self.nan(*STARTED)

    def test_data_that_one_rank_cannot_read_any_more_end_all(self):
        """What all have done by then is saved."""
        mine = self.at("mine.safetensors")
        shutil.copy(os.path.join(DIGITS, "train.safetensors"), mine)
        words = [self.script, DATA[1], mine, *self.words(20000, "net", "--checkpoint-every", "10steps")]
        process = subprocess.Popen(self.mpirun(*words), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, **MPI})
        wait_for(self.at("net.safetensors"), process)
        os.truncate(mine, 4096)
        said = process.communicate(timeout=SECONDS)[1]
        self.assertEqual(process.returncode, 2, said)
        found = re.search(r"^gradus: rank 1 \(.*\): .*mine.safetensors: the file was cut short while it was read: .*; "
                          r"the state of step (\d+) is in (\S*); continue with: mpirun ", said, re.M)
        self.assertTrue(found, said)
        self.assertEqual(len(re.findall("^gradus: ", said, re.M)), 1, said)
        self.assertEqual(found[2], self.at("net.safetensors"))
        self.assertEqual(self.step("net"), int(found[1]))
        self.train(int(found[1]), "whole", *SIMULATED)
        one, two = states(self.at("net.safetensors")), states(self.at("whole.safetensors"))
        self.assertEqual([name for name in two if one[name].tobytes() != two[name].tobytes()], [])
        self.train(int(found[1]) + 3, "net", *SIMULATED)

    def step(self, name):
        with open(self.at(f"{name}.safetensors"), "rb") as file:
            return int(json.loads(file.read(int.from_bytes(file.read(8), "little")))["__metadata__"]["step"])

    def test_a_rank_that_is_killed_is_named(self):
        """With --enable-recovery mpirun leaves it to the other ranks; tests/torture/ranks.py does more."""
        script, codes = self.at("keeping_code.sh"), self.at("code")
        with open(script, "w") as file:
            file.write(KEEPING_CODE)
        os.chmod(script, 0o755)
        words = self.words(1000000, "net", "--checkpoint-every", "10steps", "--rank-timeout", "2")
        process = subprocess.Popen(self.mpirun("--enable-recovery", script, codes, *words, ranks=3), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True, env={**os.environ, **MPI})
        wait_for(self.at("net.safetensors"), process)
        self.kill_rank(process.pid, 1)
        self.expect_named(process.communicate(timeout=SECONDS)[1], 1)
        for rank, code in (0, 1), (1, 128 + signal.SIGKILL), (2, 1):
            with open(f"{codes}.{rank}") as file:
                self.assertEqual(int(file.read()), code, f"of rank {rank}")

    def test_a_killed_rank_is_a_failure_of_ours(self):
        """mpirun says 137. It kills the other rank a second later, which may have said by then what has happened, or not."""
        for rank in 0, 1:
            process = subprocess.Popen(self.words(1000000, "net", "--checkpoint-every", "10steps", *STARTED),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, **MPI})
            before = self.step("net") if rank else 0
            while not os.path.exists(self.at("net.safetensors")) or self.step("net") == before:
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            self.kill_rank(self.children(process.pid)[0], rank)
            said = process.communicate(timeout=SECONDS)[1]
            self.assertEqual(process.returncode, 1, said)
            if "gradus: " in said:
                self.expect_named(said, rank)

    def expect_named(self, said, rank):
        found = re.search(rf"^gradus: rank {rank} \(.*\) is gone: it was killed, or it crashed.*; the last checkpoint is (\S+) of "
                          r"step (\d+); continue with: .*--resume (\S+)$", said, re.M)
        self.assertTrue(found, said)
        self.assertEqual(len(re.findall("^gradus: ", said, re.M)), 1, said)
        self.assertEqual([found[1], found[3]], 2 * [self.at("net.safetensors")])
        self.assertEqual(int(found[2]), self.step("net"))

    def children(self, process):
        with open(f"/proc/{process}/task/{process}/children") as file:
            return [int(child) for child in file.read().split()]

    def kill_rank(self, launcher, rank):
        for child in self.children(launcher):
            with open(f"/proc/{child}/environ") as file:
                if f"OMPI_COMM_WORLD_RANK={rank}\0" in file.read():
                    return os.kill(next(iter(self.children(child)), child), signal.SIGKILL)
        self.fail(f"rank {rank} is not there")


if __name__ == "__main__":
    unittest.main()
