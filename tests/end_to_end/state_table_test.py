"""State and arena are what `gradus inspect` says: every slot by name and bytes, and changing the optimizer, the accumulation or the precision changes
nothing else."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(ROOT, "build"))
GRADUS = os.path.join(BUILD, "bin", "gradus")
DIGITS = os.path.join(ROOT, "docs", "examples", "digits")
SHAPES = {"conv1.weight": (6, 1, 5, 5), "conv1.bias": (6,), "conv2.weight": (16, 6, 5, 5), "conv2.bias": (16,),
          "fc1.weight": (120, 400), "fc1.bias": (120,), "fc2.weight": (84, 120), "fc2.bias": (84,),
          "fc3.weight": (10, 84), "fc3.bias": (10,)}
SGD = 'optimizer={"type":"sgd","learning_rate":0.01}'
COUNTER = 8


def elements(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def slots(*prefixes, of=4):
    """name -> bytes of one state per parameter."""
    return {prefix + name: of * elements(shape) for prefix in prefixes for name, shape in SHAPES.items()}


PARAMETERS = slots("")
# Of what products read: weights, and biases of products of matrices, but for that of the logits.
ROUNDED = {"bf16/copy/" + name: 2 * elements(shape) for name, shape in SHAPES.items()
           if len(shape) > 1 or name in ("fc1.bias", "fc2.bias")}
STEP = {"step": COUNTER}
CASES = {
    "sgd": ((SGD,), STEP),
    "momentum": (('optimizer={"type":"sgd","learning_rate":0.01,"momentum":0.9}',), {**STEP, **slots("sgd/momentum/")}),
    "adamw": ((), {**STEP, **slots("adamw/first_moment/", "adamw/second_moment/")}),
    "accumulation": ((SGD, "accumulation=4"), {**STEP, **slots("accumulation/gradient/")}),
    "more accumulation": ((SGD, "accumulation=32"), {**STEP, **slots("accumulation/gradient/")}),
    "average": ((SGD, 'ema={"decay":0.9}'), {**STEP, **slots("ema/average/")}),
    "bf16": ((SGD, "precision=bf16"), {**STEP, **ROUNDED}),
    "skip": ((SGD, "on_nonfinite=skip"), {**STEP, "skipped_steps": COUNTER, "accepted_steps": COUNTER}),
    "scale": ((SGD, 'loss_scale={"type":"dynamic"}'),
              {**STEP, "skipped_steps": COUNTER, "accepted_steps": COUNTER, "loss_scale": 4, "loss_scale_good_steps": COUNTER}),
    "group scales": ((SGD, 'loss_scale={"type":"group","groups":[["conv*"],["fc*"]]}'),
                     {**STEP, "skipped_steps": COUNTER, "accepted_steps": COUNTER, "loss_scale/0": 4, "loss_scale/1": 4}),
}


def padded(size):
    return (size + 63) // 64 * 64


class StateTable(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def gradus(self, *arguments):
        return subprocess.run([GRADUS, *arguments], check=True, capture_output=True, text=True).stdout

    def inspected(self, name, settings):
        artifact = os.path.join(self.folder, name.replace(" ", "_") + ".gradus")
        words = [word for setting in settings for word in ("--set", setting)]
        self.gradus("compile", os.path.join(DIGITS, "lenet.onnx"), "--recipe", os.path.join(DIGITS, "recipe.json"), *words, "-o", artifact)
        return artifact, json.loads(self.gradus("inspect", artifact, "--json"))

    def test_every_slot_has_its_name_and_bytes(self):
        for name, (settings, slots) in CASES.items():
            with self.subTest(name):
                artifact, facts = self.inspected(name, settings)
                states = {state["name"]: state["bytes"] for state in facts["states"]}
                numbers = {key for key in states if key.startswith(("optimizer.", "clip.", "ema."))}
                self.assertEqual({states.pop(key) for key in numbers} - {8}, set())
                self.assertEqual(states, {**PARAMETERS, **slots})
                self.check_memory(facts)
                self.check_checkpoint(artifact, facts)

    def check_memory(self, facts):
        """Regions are as large as what lies in them; the table adds up."""
        (plan,) = facts["plans"]
        self.assertEqual(plan["state_bytes"], sum(padded(state["bytes"]) for state in facts["states"]))
        ends = [entry["offset"] + entry["size"] for graph in plan["graphs"] for entry in graph["map"] if entry["region"] == "arena"]
        self.assertEqual(plan["arena_bytes"], padded(max(ends)))
        self.assertEqual(plan["predicted_bytes"],
                         plan["state_bytes"] + plan["arena_bytes"] + plan["constant_bytes"] + plan["code_bytes"])

    def check_checkpoint(self, artifact, facts):
        """What is saved is the table without copies."""
        path = os.path.join(self.folder, "saved.safetensors")
        self.gradus("train", artifact, "--data", os.path.join(DIGITS, "train.safetensors"), "--steps", "1", "--checkpoint", path,
                    "--overwrite")
        with open(path, "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        header.pop("__metadata__")
        saved = {name: each["data_offsets"][1] - each["data_offsets"][0] for name, each in header.items()}
        self.assertEqual(saved, {state["name"]: state["bytes"] for state in facts["states"] if state["role"] != "copy"})

    def test_more_batches_an_update_take_no_more_memory(self):
        """All variants share state and arena, however many batches there are."""
        (four,), (many,) = (self.inspected(name, CASES[name][0])[1]["plans"] for name in ("accumulation", "more accumulation"))
        for key in ("state_bytes", "arena_bytes"):
            self.assertEqual(four[key], many[key])
        arenas = [max(entry["offset"] + entry["size"] for entry in graph["map"] if entry["region"] == "arena")
                  for graph in four["graphs"] if graph["name"].startswith("train")]
        self.assertEqual(len(arenas), 2)
        self.assertEqual(four["arena_bytes"], padded(max(arenas)))


if __name__ == "__main__":
    unittest.main()
