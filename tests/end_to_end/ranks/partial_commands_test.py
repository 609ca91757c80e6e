"""Ranks with parameters of their own: all of them in one file, whose states are their means."""

import json
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE), os.path.dirname(os.path.dirname(HERE))]
import rank_runs  # noqa: E402
from rank_runs import SIMULATED, STARTED, missing  # noqa: E402
from resumed_training import EVAL, GRADUS, MODEL, RECIPE, run, wait_for  # noqa: E402
from this_build import is_sanitized  # noqa: E402

THREE = ["--simulate-ranks", "3"]


def tensors(file):
    """The f32 tensors of a checkpoint by name."""
    size = struct.unpack("<Q", file[:8])[0]
    found = {}
    for name, facts in json.loads(file[8:8 + size]).items():
        if name != "__metadata__" and facts["dtype"] == "F32":
            begin, end = (8 + size + offset for offset in facts["data_offsets"])
            found[name] = struct.unpack(f"<{(end - begin) // 4}f", file[begin:end])
    return found


def farthest(some, others):
    return max(abs(a - b) for a, b in zip(some, others, strict=True))


class Partial(rank_runs.RanksTest):
    RECIPE = {"optimizer": {"type": "adamw", "learning_rate": 0.001}, "precision": "bf16", "ema": {"decay": 0.9},
              "distribution": {"mode": "data_parallel", "reduce": "partial", "parts": 3}}

    def refused(self, program, recipe, setting):
        """What the compiler says of a step that it refuses."""
        names = self.at("net.mlir"), self.at("recipe.json")
        for name, text in zip(names, (program, json.dumps(recipe))):
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        return self.ends([GRADUS, "compile", names[0], "--recipe", names[1], "--set", setting, "-o", self.at("net.gradus")])

    def test_a_run_that_goes_on_has_the_bits_of_a_whole_one(self):
        self.train(20, "whole", *SIMULATED)
        for steps in (7, 11, 20):
            self.train(steps, "cut", *SIMULATED)
        self.expect_same_bits("whole", "cut")

    @unittest.skipIf(missing(), missing())
    def test_processes_have_the_bits_of_simulated_ranks(self):
        self.train(8, "simulated", *SIMULATED)
        self.train(8, "started", *STARTED)
        self.expect_same_bits("simulated", "started")
        self.train(14, "simulated", *STARTED)
        self.train(14, "started", *SIMULATED)
        self.expect_same_bits("simulated", "started")

    def test_a_checkpoint_has_the_means_and_what_each_rank_has(self):
        self.train(5, "three", *THREE)
        found = tensors(self.read("three"))
        for name in ("fc1.weight", "fc2.weight", "adamw/first_moment/fc1.weight", "ema/average/fc1.bias"):
            own = [found[f"ranks/{rank}/{name}"] for rank in range(3)]
            mean = [sum(each) / 3 for each in zip(*own)]
            self.assertLess(max(abs(a - b) for a, b in zip(found[name], mean)), 1e-6)
        # The fifth update has shared the second part, which is the second largest parameter.
        for name, is_shared in (("fc1.weight", False), ("fc2.weight", True), ("fc1.bias", False)):
            own = {found[f"ranks/{rank}/{name}"] for rank in range(3)}
            self.assertEqual(len(own), 1 if is_shared else 3, name)
        self.assertNotIn("ranks/1/step", found)

    def test_tests_and_saves_change_no_bit_of_a_run(self):
        self.train(20, "whole", *SIMULATED)
        said = self.train(20, "often", *SIMULATED, *EVAL, "--eval-every", "4steps", "--best", "accuracy", "--checkpoint-every", "3steps",
                          "--check-replicas", "2")
        self.assertIn("test", said)
        whole, often = (tensors(self.read(name)) for name in ("whole", "often"))
        self.assertEqual(whole, often)

    def test_tests_are_of_the_means(self):
        """The figures of a test are those of the checkpoint of its step, which one process evaluates."""
        for name, average in ("run", []), ("averaged", ["--ema"]):
            said = self.train(20, name, *SIMULATED, *EVAL, "--eval-every", "4steps", "--best", "loss:max", *average)
            self.assertIn("test", said)
            tested = [line["test"]["loss"] for line in self.folder.log(f"{self._testMethodName}.{name}.jsonl") if "test" in line]
            self.assertNotEqual(max(tested), tested[-1])
            for state, expected in (name, tested[-1]), (name + ".best", max(tested)):
                for ranks in [], SIMULATED:
                    said = run([GRADUS, "evaluate", self.artifact, "--data", EVAL[1], "--checkpoint", self.at(state + ".safetensors"), "--json",
                                *average, *ranks])
                    self.assertEqual(json.loads(said.splitlines()[-1])["loss"], expected)

    @unittest.skipIf(missing(), missing())
    @unittest.skipIf(is_sanitized(), "sanitizers keep freed memory")
    def test_memory_is_as_predicted(self):
        """Rank 0 has memory for the states of both ranks while it saves, and each for a copy of its own while means are tested: not in the steps."""
        with open(self.at("wide.mlir"), "w") as file:
            file.write(MODEL.replace("24xf32", "2400xf32").replace("<24x", "<2400x"))
        with open(self.at("wide.json"), "w") as file:
            json.dump({**RECIPE, **self.RECIPE, "precision": "f32"}, file)
        run([GRADUS, "compile", self.at("wide.mlir"), "--recipe", self.at("wide.json"), "-o", self.at("wide.gradus")])
        said = self.train(4, "wide", *STARTED, *EVAL, "--eval-every", "2steps", "--json", artifact=self.at("wide.gradus"))
        told = next(line for line in map(json.loads, filter(lambda line: line.startswith("{"), said.splitlines())) if "measured_bytes" in line)
        states = 4 * 4 * 784 * 2400  # parameters, both moments and the average
        self.assertGreater(told["predicted_bytes"], states)
        self.assertLess(abs(told["measured_bytes"] - told["predicted_bytes"]), states / 4)

    def test_a_run_that_a_signal_ends_goes_on_to_the_bit(self):
        log = self.at("cut.jsonl")
        process = subprocess.Popen(self.words(10**8, "cut", *SIMULATED), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        wait_for(log, process)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=rank_runs.SECONDS)
        self.assertEqual(process.returncode, 130, said)
        steps = int(re.search(r"interrupted after step (\d+)", said)[1]) + 4
        self.train(steps, "cut", *SIMULATED)
        self.train(steps, "whole", *SIMULATED)
        self.expect_same_bits("whole", "cut")

    def test_a_save_that_fails_gives_ranks_their_own_back(self):
        """Files end before a checkpoint does, and after a log."""
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
        self.train(12, "whole", *SIMULATED)
        done = subprocess.run(self.words(12, "failed", *SIMULATED, "--checkpoint-every", "2steps", "--on-checkpoint-error", "continue"),
                              capture_output=True, text=True, preexec_fn=limit, timeout=rank_runs.SECONDS)
        self.assertRegex(done.stderr, r"(?m)^warning: .*failed\.safetensors: cannot write: .*; training goes on")
        logs = [self.folder.log(f"{self._testMethodName}.{name}.jsonl") for name in ("whole", "failed")]
        self.assertTrue(logs[0])
        self.assertEqual(*logs)

    def test_a_run_goes_on_in_other_parts(self):
        other = self.folder.compile("two.gradus", **{**self.RECIPE, "distribution": {**self.RECIPE["distribution"], "parts": 2}})
        self.train(5, "run", *SIMULATED)
        # The sixth update shares the second of two parts, which has two parameters, and the third of three, which has one of these.
        for artifact, shared in (other, {"fc2.weight", "fc1.bias"}), (None, {"fc1.bias"}):
            with open(self.at("went.safetensors"), "wb") as file:
                file.write(self.read("run"))
            self.assertNotIn("of their own", self.train(6, "went", *SIMULATED, **({"artifact": artifact} if artifact else {})))
            found = tensors(self.read("went"))
            for name in "fc1.weight", "fc2.weight", "fc1.bias":
                self.assertEqual(found[f"ranks/0/{name}"] == found[f"ranks/1/{name}"], name in shared, name)

    def test_another_number_of_ranks_goes_on_from_the_means(self):
        self.train(5, "run", *SIMULATED)
        means = tensors(self.read("run"))
        said = self.train(6, "run", *THREE)
        self.assertRegex(said, r"warning: .*run\.safetensors: was saved on 2 ranks with parameters of their own, and there are 3 now: what "
                               r"each had is lost, and all go on from their mean")
        self.assertNotEqual(means["fc1.weight"], tensors(self.read("run"))["fc1.weight"])
        said = self.train(7, "run")
        self.assertIn("was saved on 3 ranks with parameters of their own, and there is 1 now", said)
        self.assertFalse([name for name in tensors(self.read("run")) if name.startswith("ranks/")])
        self.assertNotIn("of their own", self.train(8, "run", *SIMULATED))

    def test_parameters_of_a_checkpoint_begin_a_run_at_the_means(self):
        self.train(3, "run", *SIMULATED)
        run([GRADUS, "train", self.artifact, *rank_runs.DATA, "--steps", "1", "--checkpoint", self.at("new.safetensors"),
             "--init", self.at("run.safetensors"), *SIMULATED, "--set", "optimizer.learning_rate=1e-8"])
        former, new = tensors(self.read("run")), tensors(self.read("new"))
        for rank in range(2):
            own = f"ranks/{rank}/fc1.weight"
            self.assertGreater(farthest(former[own], former["fc1.weight"]), 1e-4, "the ranks had moved apart")
            self.assertLess(farthest(new[own], former["fc1.weight"]), 1e-6)

    def test_more_parts_than_parameters_are_refused(self):
        said = self.refused(MODEL, {**RECIPE, **self.RECIPE}, "distribution.parts=4")
        self.assertIn("distribution.parts is 4, but 3 parameters are trained, and none is divided; take at most 3", said)

    def test_more_parts_than_variants_may_be_are_refused(self):
        """SINGA's rule makes a part of each parameter that has more elements."""
        count = 257
        states = "".join(f"gradus.state @p{i} : tensor<2xf32> {{role = #gradus.role<parameter>, init = #gradus.init<zeros>}}\n"
                         for i in range(count))
        sums = "".join(f"%p{i} = gradus.read @p{i} : tensor<2xf32>\n%s{i + 1} = arith.addf %s{i}, %p{i} : tensor<2xf32>\n"
                       for i in range(count))
        said = self.refused(
            f"""gradus.program @many {{
{states}gradus.graph @predict(%s0: tensor<2xf32>) -> (cost: tensor<f32>) {{
{sums}%square = arith.mulf %s{count}, %s{count} : tensor<2xf32>
%cost = gradus.reduce sum %square axes [0] : tensor<2xf32> -> tensor<f32>
gradus.return %cost : tensor<f32>
}}
}}""",
            {"loss": {"type": "output"}, "optimizer": {"type": "sgd", "learning_rate": 0.1},
             "distribution": {"mode": "data_parallel", "reduce": "partial"}}, "distribution.bucket_elements=1")
        self.assertIn("distribution.bucket_elements is 1, which cuts 257 parameters to 257 parts, each of which is a variant of the step; "
                      "expected at most 256: take more elements, or set parts", said)


if __name__ == "__main__":
    unittest.main()
