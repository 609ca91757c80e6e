"""How long steps should take: by commands that are known, before the first card and now."""

import contextlib
import glob
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
import run  # noqa: E402 - that of this folder: pack puts the bench's before it
import pack  # noqa: E402
import predict  # noqa: E402
from this_build import BUILD, is_sanitized  # noqa: E402

TOOL = os.path.join(BUILD, "bin", "gradus")
DEPS = os.environ.get("GRADUS_DEPS") or os.path.join(os.path.expanduser("~"), ".cache", "gradus")
PTXAS = glob.glob(os.path.join(DEPS, "cuda-*", "bin", "ptxas")) + glob.glob("/usr/local/cuda/bin/ptxas")
PRODUCT = {"name": "matmul", "call": "matmul bf16 8192x768 x bf16 768x3072 -> bf16 8192x3072", "flops": 575e9, "bytes": 1e6, "scratch_bytes": 0}
KERNEL = {"name": "add", "flops": 0, "bytes": 3.6e9, "operations": 0}


def convolution(call, **facts):
    return {"call": call, "flops": 1e11, "bytes": 0, "scratch_bytes": 1 << 25} | facts


def kind_and_ms(command):
    kind, seconds = predict.command_seconds(command)
    return kind, round(seconds * 1e3, 3)


class Commands(unittest.TestCase):
    def test_products_take_their_flops_or_their_bytes(self):
        self.assertEqual(kind_and_ms(PRODUCT), ("matmul", 1.0))
        self.assertEqual(kind_and_ms(PRODUCT | {"bytes": 7.2e9}), ("matmul", 2.0))
        f32 = {"call": "matmul f32 8x8 x f32 8x8 -> f32 8x8", "flops": 67e9}
        self.assertEqual(kind_and_ms(PRODUCT | f32), ("matmul", 1.0))

    def test_kernels_take_their_bytes_or_what_they_execute(self):
        self.assertEqual(kind_and_ms(KERNEL), (predict.IN_MEMORY, 1.0))
        executed = {"operations": 2e-3 * 132 * 1.98e9 * 64}
        self.assertEqual(kind_and_ms(KERNEL | executed), (predict.IN_INSTRUCTIONS, 2.0))

    def test_convolutions_of_three_channels_want_scratch(self):
        call = "convolution bf16 256x3x224x224 strides 150528x1x672x3 x bf16 64x3x7x7 -> bf16 256x64x112x112, strides 2x2"
        self.assertEqual(kind_and_ms(convolution(call)), ("convolution without tensor cores", 7.692))
        self.assertEqual(kind_and_ms(convolution(call, scratch_bytes=1 << 28)), ("convolution", 0.288))
        self.assertEqual(kind_and_ms(convolution(call.replace("bf16", "f32"))), ("convolution", 1.493))
        self.assertEqual(kind_and_ms(convolution(call.replace("x3x", "x8x"))), ("convolution", 0.174))

    def test_gradients_of_attention_move_their_scores(self):
        call = {"call": "attention_backward bf16 8x12x1024x64 x bf16 8x12x1024x64", "flops": 575e9, "bytes": 0}
        self.assertEqual(kind_and_ms(call | {"scratch_bytes": 1.8e9}), ("attention", 2.0))

    def test_a_copy_takes_its_bytes(self):
        self.assertEqual(kind_and_ms({"name": "copy", "flops": 0, "bytes": 3.6e9}), (predict.IN_MEMORY, 1.0))


class Tables(unittest.TestCase):
    def test_rows_add_up(self):
        rows = predict.predicted([PRODUCT, KERNEL | {"count": 3}])
        self.assertEqual([(row.kind, row.count, round(row.ms, 4), row.measured_ms) for row in rows],
                         [(predict.IN_MEMORY, 3, 3.0, None), ("matmul", 1, 1.0, None), (predict.NODES, 4, 0.0048, None),
                          ("in all", 4, 4.0048, None)])

    def test_what_was_measured_stands_beside_it(self):
        rows = predict.predicted([PRODUCT, KERNEL, KERNEL], [1500.0, 500.0, 700.0])
        self.assertEqual([(row.kind, row.measured_ms and round(row.measured_ms, 4)) for row in rows],
                         [(predict.IN_MEMORY, 1.2), ("matmul", 1.5), (predict.NODES, None), ("in all", 2.7)])
        self.assertEqual([line.split()[-1] for line in predict.lines_of(rows)], ["measured", "1.200", "1.500", "0.004", "2.700"])
        self.assertIsNone(predict.predicted([PRODUCT], [1.0, 2.0])[-1].measured_ms, "other commands were measured")


class Run(unittest.TestCase):
    def printed(self, tool):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as out:
            path = os.path.join(folder, "gradus")
            with open(path, "w") as file:
                file.write(f"#!/bin/sh\n{tool}\n")
            os.chmod(path, 0o755)
            with unittest.mock.patch.object(run, "GRADUS", path):
                run.print_prediction("x.gradus", {"commands": [{"us": 1500}, {"us": 500}]})
        return out.getvalue()

    def test_a_prediction_stands_beside_what_was_measured(self):
        plan = {"plans": [{"target": "cuda", "graphs": [{"name": "train", "commands": [PRODUCT, KERNEL]}]}]}
        self.assertRegex(self.printed(f"echo '{json.dumps(plan)}'"), r"matmul +1 +1\.000 +1\.500\n[^\n]+\n[^\n]+\n +in all +2 +2\.002 +2\.000\n$")

    def test_a_run_goes_on_without_it(self):
        self.assertIn("no prediction: ", self.printed("exit 3"))


class Steps(unittest.TestCase):
    def test_those_before_the_first_card_are_as_they_were_reckoned(self):
        """By hand, from machine code, bytes and FLOPs: at least, at most."""
        with open(os.path.join(HERE, "steps_before_cards.json")) as file:
            steps = json.load(file)["steps"]
        for name, (least, most) in {"gpt2-bf16-8x1024": (157, 157), "resnet50-bf16-256": (53, 59), "bert-bf16-32x128": (61, 61)}.items():
            ms = predict.step_ms(steps[name])
            self.assertGreater(ms, least * 0.9, name)
            self.assertLess(ms, most * 1.1, name)

    @unittest.skipIf(is_sanitized(), "the other build compiles them, too")
    @unittest.skipUnless(PTXAS, "there is no ptxas")
    def test_those_of_now_are_fast(self):
        for name, most in {"gpt2-bf16-8x1024": 20.5, "resnet50-bf16-256": 48, "bert-bf16-32x128": 13}.items():
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, f"{name}.gradus")
                subprocess.run([TOOL, "compile", *pack.SPEED[name], "--target", "cuda:sm_90", "-o", path], check=True, capture_output=True)
                commands = predict.commands_of(predict.inspected(path, TOOL))
            self.assertGreater(len(commands), 100)
            self.assertLessEqual(predict.step_ms(commands), most, name)

    def test_a_file_without_a_plan_for_cards_is_refused(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"plans": [{"target": "cpu", "graphs": [{"name": "train", "commands": [KERNEL]}]}]}, file)
            file.flush()
            run = subprocess.run([sys.executable, os.path.join(HERE, "predict.py"), file.name], capture_output=True, text=True)
        self.assertEqual(run.returncode, 1)
        self.assertIn("has no plan for GPUs with a graph train; expected one compiled with --target cuda", run.stderr)

    def test_a_file_that_is_not_there_is_told_in_a_line(self):
        run = subprocess.run([sys.executable, os.path.join(HERE, "predict.py"), "nothere.json"], capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stderr.count("\n")), (1, 1), run.stderr)
        self.assertIn("nothere.json: ", run.stderr)


if __name__ == "__main__":
    unittest.main()
