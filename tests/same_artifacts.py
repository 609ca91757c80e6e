#!/usr/bin/env python3
"""Compares what two builds of gradus make of the recorded models, of every optimizer, schedule and method.

    tests/same_artifacts.py OLD/bin/gradus NEW/bin/gradus [--only PATTERN] [--target TARGET]... [--steps N]

Artifacts are equal to the byte, or the two are trained for N steps (20, by default) of the same random data and the
states must be equal to the byte. A change of the sources that shall not change what is computed is checked so. Exit 1
if anything differs in what it computes."""

import argparse
import copy
import filecmp
import fnmatch
import json
import os
import struct
import subprocess
import sys
import tempfile

import recorded


DEFAULT_TARGET = "cpu:x86-64-v3"  # of no machine in particular


def object_of(schema, node):
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return node


def types(schema, node):
    """The values of `type` that a variant of the schema has."""
    found = []
    node = object_of(schema, node)
    for each in node.get("oneOf", []) + node.get("anyOf", []):
        found += types(schema, each)
    kind = node.get("properties", {}).get("type", {})
    return found + ([kind["const"]] if "const" in kind else kind.get("enum", []))


METHODS = [
    {"clip": {"type": "global_norm", "value": 0.5}}, {"clip": {"type": "norm", "value": 0.5}},
    {"clip": {"type": "value", "value": 0.01}}, {"clip": {"type": "adaptive", "value": 0.01}},
    {"ema": {"decay": 0.9, "warmup": True}}, {"loss_scale": {"type": "dynamic"}}, {"loss_scale": {"type": "static", "initial": 128.0}},
    {"gradient_centralization": {}}, {"gradient_freeze": {}}, {"accumulation": 4}, {"precision": "bf16"},
    {"precision": "bf16", "ema": {}, "clip": {"type": "global_norm", "value": 1.0}, "accumulation": 2}, {"boost": "O1"}, {"boost": "O2"},
    {"on_nonfinite": "skip"}, {"memory_limit": "1GiB", "deterministic": True}, {"seed": 7},
    {"groups": [{"match": ["*bias"], "weight_decay": 0.0, "learning_rate_factor": 2.0}]},
    {"groups": [{"match": ["*bias"], "optimizer": {"type": "sgd", "momentum": 0.9}}]},
    {"groups": [{"match": ["*bias"], "frozen": True}]},
]
SCHEDULES = {"linear_warmup": {"steps": 5}, "linear": {"steps": 9}, "cosine": {"steps": 9}, "polynomial": {"steps": 9},
             "one_cycle": {"steps": 12}, "product": {"steps": 9, "factors": [{"type": "cosine", "steps": 9}]}}


def recipes(schema):
    """Name -> what is laid over the recipe of the small models, for each optimizer, schedule and method."""
    made = {}
    keys = schema["properties"]
    for optimizer in types(schema, keys["optimizer"]):
        for framework in ("pytorch", "mindspore", "singa", "timm"):
            made[f"{optimizer}-{framework}"] = {"optimizer": {"type": optimizer, "weight_decay": 0.01} if optimizer != "rprop"
                                                else {"type": optimizer}, "compat": framework}
    piece = object_of(schema, keys["schedule"])["properties"]["learning_rate"]["items"]
    for kind in types(schema, piece):
        if kind != "state":
            made[f"schedule-{kind}"] = {"schedule": {"learning_rate": [{"type": kind, **SCHEDULES.get(kind, {})}]}}
    made["schedule-of-all"] = {"optimizer": {"type": "adamw"}, "schedule": {
        key: [{"type": "exponential", "rate": 0.99}] for key in ("learning_rate", "weight_decay", "epsilon", "beta1", "beta2")}}
    for number, method in enumerate(METHODS):
        made[f"method-{number}-{'-'.join(method)}"] = method
    return made


def cases(schema):
    """(name, model file, recipe) of all that is compared."""
    for name, folder in recorded.folders().items():
        case = recorded.description(folder)
        if recorded.is_full_size(folder):
            continue
        for described in case["files"]:
            recipe = recorded.recipe(case, described)
            yield f"{name}/{described['file']}", os.path.join(folder, described["file"]), recipe
        if name in ("mlp", "lenet5"):
            for variant, over in recipes(schema).items():
                yield f"{name}-{variant}", os.path.join(folder, described["file"]), {**copy.deepcopy(recipe), **over}


def inputs_of(model, out):
    """Writes a recorded case's batches as the inputs of `gradus run`: one tensor an input, batches along a new axis."""
    with open(os.path.join(os.path.dirname(model), "data.safetensors"), "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__", None)
    made, joined = {}, b""
    for key in sorted(header, key=lambda each: int(each.rsplit(".", 1)[1])):
        name = key.rsplit(".", 1)[0]
        name = "label" if name == "labels" else name.removeprefix("input.")
        made.setdefault(name, []).append(key)
    written = {}
    for name, keys in made.items():
        begin = len(joined)
        for key in keys:
            joined += data[slice(*header[key]["data_offsets"])]
        written[name] = {"dtype": header[keys[0]]["dtype"], "shape": [len(keys), *header[keys[0]]["shape"]],
                         "data_offsets": [begin, len(joined)]}
    text = json.dumps(written).encode()
    with open(out, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + joined)
    return out


def tensors(path):
    """Name -> bytes of each tensor of a .safetensors file."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__", None)
    return {name: data[slice(*entry["data_offsets"])] for name, entry in header.items()}


def difference(states):
    """How the states after the same steps differ, in words; states that only one of the two has are no difference in
    what is computed."""
    old, new = map(tensors, states)
    other = [name for name in old if name in new and old[name] != new[name]]
    if other:
        return f"COMPUTES OTHERWISE: {', '.join(sorted(other)[:3])}"
    one = len(old.keys() ^ new.keys())
    return f"computes the same: {one} states are in one of the two" if one else "computes the same"


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def compile_by(tool, model, recipe, target, out):
    with open(out + ".json", "w") as file:
        json.dump(recipe, file)
    return run(tool, "compile", model, "--recipe", out + ".json", "--target", target, "-o", out)


def state_after(tool, artifact, inputs, steps, out):
    return run(tool, "run", artifact, "train", "--inputs", inputs, "--steps", str(steps), "--checkpoint", out, "--overwrite")


def compare(tools, case, target, steps, folder):
    """How the two differ, in a word."""
    name, model, recipe = case
    made = [os.path.join(folder, side + ".gradus") for side in ("old", "new")]
    said = [compile_by(tool, model, recipe, target, out) for tool, out in zip(tools, made)]
    if said[0][0] or said[1][0]:
        return f"refused alike: {said[0][1].splitlines()[0]}" if said[0] == said[1] else f"REFUSED BY ONE: {said[0][1]} / {said[1][1]}"
    if filecmp.cmp(*made, shallow=False):
        return "equal"
    states = [out + ".safetensors" for out in made]
    inputs = inputs_of(model, os.path.join(folder, "inputs.safetensors"))
    for tool, out, state in zip(tools, made, states):
        code, words = state_after(tool, out, inputs, steps, state)
        if code:
            return f"DOES NOT RUN: {words}"
    return difference(states)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--only", default="*")
    parser.add_argument("--target", action="append")
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    schema = json.loads(run(options.old, "recipe", "--schema")[1])
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(schema):
            if not fnmatch.fnmatch(case[0], options.only):
                continue
            for target in options.target or [DEFAULT_TARGET]:
                found = compare((options.old, options.new), case, target, options.steps, folder)
                counts[found.split(":")[0]] = counts.get(found.split(":")[0], 0) + 1
                if found != "equal":
                    print(f"{case[0]} for {target}: {found}", flush=True)
    print(", ".join(f"{count} {word}" for word, count in sorted(counts.items())))
    return 1 if any(word.isupper() for word in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
