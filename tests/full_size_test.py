"""Architectures of full size train as recorded, from weights that are made by the
rule of their init.json. Minutes and gigabytes, so only for `--only full-size`."""

import glob
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recorded  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(HERE, "..", "build"))
DEPS = os.environ.get("GRADUS_DEPS") or os.path.join(os.path.expanduser("~"), ".cache", "gradus")
PYTHON = os.path.join(DEPS, "onnx-tests", "bin", "python")  # has numpy
ROOTS = [os.path.join(HERE, "data", "models")] + [root for root in os.environ.get("GRADUS_MODELS", "").split(":") if root]
ASKED = "full-size" in os.environ.get("GRADUS_ONLY", "")


def cases():
    """Name -> folder of the cases without stored weights."""
    paths = [path for root in ROOTS for path in glob.glob(os.path.join(root, "**", "init.json"), recursive=True)]
    return {os.path.basename(os.path.dirname(path)): os.path.dirname(path) for path in reversed(paths)}


class FullSize(unittest.TestCase):
    def check(self, folder):
        whole = os.path.join(BUILD, "tests", "full_size", os.path.basename(folder))
        self.addCleanup(shutil.rmtree, whole, ignore_errors=True)
        subprocess.run([PYTHON, os.path.join(HERE, "data", "make_weights.py"), folder, whole], check=True)
        done = subprocess.run([os.path.join(BUILD, "bin", "gradus"), "check", whole], capture_output=True, text=True)
        print(done.stdout, end="", flush=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


def add(name, folder):
    @unittest.skipUnless(ASKED, "takes minutes; ./dev test --only full-size")
    def test(self):
        self.check(folder)

    setattr(FullSize, "test_" + name.replace("-", "_"), test)


for _name, _folder in sorted(cases().items()):
    add(_name, _folder)


@unittest.skipUnless(ASKED, "takes minutes; ./dev test --only full-size")
class Arena(unittest.TestCase):
    """Every file of a case needs no more than 5 % above what lives at once."""

    def test_arena_is_near_its_bound(self):
        for name, folder in sorted(cases().items()):
            with open(os.path.join(folder, "case.json")) as file:
                case = json.load(file)
            for described in case["files"]:
                with self.subTest(case=name, file=described["file"]), tempfile.TemporaryDirectory(dir=BUILD) as out:
                    self.check(case, described, folder, out)

    def check(self, case, described, folder, out):
        artifact = recorded.compile_case(folder, case, described, out, "--initialize", "pytorch")
        printed = subprocess.run([recorded.GRADUS, "inspect", artifact, "--json"], capture_output=True, text=True, check=True)
        plan, = json.loads(printed.stdout)["plans"]
        self.assertLessEqual(plan["arena_bytes"], 1.05 * plan["bound_bytes"])


@unittest.skipUnless(ASKED, "takes minutes; ./dev test --only full-size")
@unittest.skipUnless(recorded.has_cuda(), "built without a CUDA toolkit (GRADUS_CUDA=OFF)")
class Gpus(unittest.TestCase):
    """Every file of every recorded model compiles for all GPUs."""

    def test_compile_for_gpus(self):
        for name, folder in recorded.folders().items():
            case = recorded.description(folder)
            for described in case["files"]:
                with self.subTest(case=name, file=described["file"]), tempfile.TemporaryDirectory(dir=BUILD) as out:
                    initialize = ["--initialize", "zeros"] if recorded.is_full_size(folder) else []
                    recorded.compile_case(folder, case, described, out, "--target", "cuda", "--kernel-cache",
                                          os.path.join(BUILD, "tests", "cache"), *initialize)


RECIPE = {"loss": {"type": "softmax_cross_entropy", "output": "logits", "class_axis": -1},
          "optimizer": {"type": "adamw", "learning_rate": 1e-4, "weight_decay": 0.01}}


def write_tokens(path, sequences, length, vocabulary):
    """Random tokens and the next one of each as its label, as safetensors."""
    draw = random.Random(1)
    tokens = [draw.randrange(vocabulary) for _ in range(sequences * length + 1)]
    size = 8 * sequences * length
    header = json.dumps({name: {"dtype": "I64", "shape": [sequences, length], "data_offsets": [start, start + size]}
                         for name, start in (("input_ids", 0), ("label", size))}).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        for part in (tokens[:-1], tokens[1:]):
            file.write(struct.pack(f"<{len(part)}q", *part))


@unittest.skipUnless(ASKED, "takes minutes; ./dev test --only full-size")
class MemoryLimit(unittest.TestCase):
    """GPT-2 at 4 x 256 within a limit: recomputation changes memory and no bit."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=BUILD)
        self.addCleanup(shutil.rmtree, self.folder)
        with open(self.path("recipe.json"), "w") as file:
            json.dump(RECIPE, file)
        write_tokens(self.path("tokens.safetensors"), 8, 256, 50257)

    def path(self, name):
        return os.path.join(self.folder, name)

    def gradus(self, *arguments):
        return subprocess.run([os.path.join(BUILD, "bin", "gradus"), *arguments], capture_output=True, text=True)

    def compile(self, name, *limit):
        return self.gradus("compile", os.path.join(HERE, "data", "models", "gpt2-124M", "model_dynshape.onnx"), "--recipe",
                           self.path("recipe.json"), "--initialize", "pytorch", "--dim", "batch=4", "--dim", "seq=256",
                           "--json", "-o", self.path(name), *limit)

    def losses(self, name):
        log = self.path(name + ".jsonl")
        done = self.gradus("train", self.path(name), "--data", self.path("tokens.safetensors"), "--steps", "2", "--log", log,
                           "--overwrite", "--no-checkpoint")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(log) as file:
            return [line["loss"] for line in map(json.loads, file) if "loss" in line]

    def test_recompute(self):
        refused = self.compile("none.gradus", "--memory-limit", "1MiB")
        self.assertEqual(refused.returncode, 2, refused.stderr)
        found = re.search(r"expected at least the smallest possible, ([0-9.]+) MiB", refused.stderr)
        self.assertTrue(found, refused.stderr)
        small, whole = (self.compile(name, *limit) for name, limit in (
            ("small.gradus", ["--memory-limit", found[1] + "MiB"]), ("whole.gradus", [])))
        self.assertEqual((small.returncode, whole.returncode), (0, 0), small.stderr + whole.stderr)
        arena, unlimited = (json.loads(done.stdout.splitlines()[-1])["arena_bytes"] for done in (small, whole))
        self.assertLessEqual(arena, 0.6 * unlimited)
        losses = self.losses("small.gradus")
        self.assertEqual(len(losses), 2)
        self.assertEqual(losses, self.losses("whole.gradus"))


if __name__ == "__main__":
    unittest.main()
