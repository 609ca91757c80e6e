"""The recorded models of tests/data/models, as `gradus compile` takes them."""

import glob
import json
import os
import subprocess

from this_build import BUILD, TESTS, told

GRADUS = os.path.join(BUILD, "bin", "gradus")


def folders():
    """Name -> folder of all cases."""
    return {os.path.basename(os.path.dirname(path)): os.path.dirname(path)
            for path in sorted(glob.glob(os.path.join(TESTS, "data", "models", "*", "case.json")))}


def is_full_size(folder):
    """Those have no stored weights."""
    return os.path.exists(os.path.join(folder, "init.json"))


def description(folder):
    with open(os.path.join(folder, "case.json")) as file:
        return json.load(file)


def recipe(case, described):
    """A recipe for one of a case's files, with AdamW."""
    shapes = {each["name"]: each["shape"] for each in case["inputs"]}
    dims = {dim: shapes[each][int(axis)] for each, axes in (described.get("symbolic_dims") or {}).items()
            for axis, dim in axes.items()}
    made = {"loss": {"output": case["output"]["name"], **case["loss"]}, "inputs": {"dims": dims},
            "optimizer": {"type": "adamw", "learning_rate": 1e-4}}
    trained = described.get("trainable_initializers")
    return {**made, "trainable": trained} if trained else made


def compile_case(folder, case, described, out, *options):
    """The artifact of one of a case's files, in the folder `out`; what is wrong is an error in words."""
    name = os.path.join(out, os.path.basename(folder) + "-" + described["file"])
    with open(name + ".json", "w") as file:
        json.dump(recipe(case, described), file)
    command = [GRADUS, "compile", os.path.join(folder, described["file"]), "--recipe", name + ".json", "-o", name + ".gradus"]
    done = subprocess.run([*command, *options], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return name + ".gradus"


def has_cuda():
    """Whether this was built with a CUDA toolkit."""
    return told("GRADUS_CUDA") == "ON"
