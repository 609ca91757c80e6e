"""Makes a folder that a machine with a card needs, and nothing else of Gradus: the
tool, the plug-in for GPUs, test programs, and compiled training steps. No card is
needed here, and there no compiler. `run.sh` in it does everything.

`./dev pack-gpu-tests [FOLDER]` builds and then calls this.
"""

import argparse
import json
import lzma
import math
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(ROOT, "build"))
MOST_BYTES = 60_000_000
OF_OTHER_TESTS = {"stub_profiler.so", "stub_loader.so", "driver_of_one_card.so"}
sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))

import workloads  # noqa: E402

DIGITS = os.path.join(ROOT, "docs", "examples", "digits")
DEVICES = ["--target", "cpu:x86-64-v3", "--target", "cuda"]  # what any host of a card is


def workload(name, *options, dims=None, initialize="pytorch"):
    """The options of `gradus compile` for a network of the bench. Weights of zeros take no room."""
    each = workloads.BY_NAME[name]
    command = [os.path.join(workloads.MODELS, each.model)]
    if each.recipe:
        command += ["--recipe", os.path.join(workloads.MODELS, each.recipe), "--initialize", initialize]
    for dim in each.dims if dims is None else dims:
        command += ["--dim", dim]
    return [*command, *options]


LENET = [os.path.join(DIGITS, "lenet.onnx"), "--recipe", os.path.join(DIGITS, "recipe.json")]
BF16 = ["--set", "precision=bf16"]

# Small steps that both devices run: name -> options of `gradus compile`.
CASES = {
    "lenet": LENET,
    "lenet-bf16": LENET + BF16,
    "lenet-accumulate": LENET + ["--set", "accumulation=2"],
    "mlp": workload("mlp"),
    "mlp-libraries": workload("mlp", "--libraries", "always"),
    "resnet": [os.path.join(workloads.MODELS, "resnet_28.onnx"), "--recipe", os.path.join(workloads.MODELS, "resnet.json"),
               "--initialize", "pytorch"],
    "gpt-d256": workload("gpt-d256"),
}

# Steps that the card alone runs, for their time.
NETWORKS = {  # name -> workload of the bench and its sizes; in bf16, from zeros. PyTorch compiles the last one longest.
    "gpt2-bf16-8x1024": ("gpt2-124m", {"batch": 8, "seq": 1024}),
    "bert-bf16-32x128": ("bert-base", {"batch": 32, "seq": 128}),
    "resnet50-bf16-256": ("resnet50", {"batch": 256}),
}
SPEED = {"adamw-30m": workload("adamw-30m")} | {
    name: workload(network, *BF16, dims=[f"{key}={size}" for key, size in sizes.items()], initialize="zeros")
    for name, (network, sizes) in NETWORKS.items()}


def compile(name, options, path):
    command = [os.path.join(BUILD, "bin", "gradus"), "compile", *options, "-o", path]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{name}: {' '.join(command)}\n{done.stderr}")


def copy_programs(out, effort):
    for folder in ("bin", "lib"):
        os.makedirs(os.path.join(out, folder))
    stubs = [os.path.join("tests", "bin", name) for name in os.listdir(os.path.join(BUILD, "tests", "bin"))
             if name.endswith(".so") and name not in OF_OTHER_TESTS]  # the others cuda_tests opens
    programs = [("bin/gradus", "bin"), ("tests/bin/cuda_tests", "bin"), ("lib/libgradus_cuda.so", "lib"),
                ("lib/libgradus_emulated.so", "lib")]
    for name, folder in programs + [(stub, "bin") for stub in sorted(stubs)]:
        copy_stripped(name, os.path.join(out, folder))
    onednn = os.path.join(BUILD, "lib", "libdnnl.so.3")
    if os.path.exists(onednn):  # else the processor's plans do not call it
        for needed in libraries(onednn, "libgomp.so"):
            copy_stripped(needed, os.path.join(out, "lib"))
        pack_small(copy_stripped(onednn, os.path.join(out, "lib")), effort)


def libraries(path, name):
    """Those of a name that a file needs, as this machine has them."""
    printed = subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout
    return re.findall(rf"=> (/\S*{re.escape(name)}\S*)", printed)


def copy_stripped(name, folder):
    path = os.path.join(folder, os.path.basename(name))
    shutil.copy2(os.path.join(BUILD, name), path)
    subprocess.run(["strip", path], check=True)
    return path


def pack_small(path, effort):
    """run.py unpacks it there."""
    with open(path, "rb") as file, lzma.open(path + ".xz", "wb", preset=effort) as packed:
        shutil.copyfileobj(file, packed, 1 << 20)
    os.remove(path)


def copy_reference(out):
    """What measures the same in PyTorch there."""
    os.makedirs(out)
    shutil.copy2(os.path.join(HERE, "pytorch_reference.py"), out)
    shutil.copy2(os.path.join(ROOT, "tests", "bench", "peer_torch_models.py"), out)
    steps = {name: {"network": network, "sizes": sizes, "optimizer": workloads.BY_NAME[network].optimizer(),
                    "count": math.prod(sizes.values()), "unit": "tokens" if "seq" in sizes else "images"}
             for name, (network, sizes) in NETWORKS.items()}
    with open(os.path.join(out, "steps.json"), "w") as file:
        json.dump(steps, file, indent=1)


def make_empty(folder):
    """Only what was packed before is deleted for what is packed now."""
    if os.path.isdir(folder) and os.listdir(folder) and not os.path.exists(os.path.join(folder, "bin", "cuda_tests")):
        raise SystemExit(f"{folder} has files that were not packed; expected a new or an empty folder, or one packed before")
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise SystemExit(f"{folder} is a file; expected a folder")
    shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=os.path.join(BUILD, "gpu-tests"))
    parser.add_argument("--only", action="append", help="a part of the names of the steps to pack; may repeat")
    parser.add_argument("--emulated", action="store_true", help="pack code for the emulated card too, to try run.sh here")
    options = parser.parse_args()
    for part in options.only or []:
        if not any(part in name for name in [*CASES, *SPEED]):
            raise SystemExit(f"--only {part}: no step has that in its name; there are {', '.join([*CASES, *SPEED])}")
    make_empty(options.folder)
    copy_programs(options.folder, effort=0 if options.only else 6)  # 8 MB in a few seconds, or 6 MB
    for name in ("run.sh", "run.py", "predict.py"):
        shutil.copy2(os.path.join(HERE, name), options.folder)
    copy_reference(os.path.join(options.folder, "reference"))
    extra = ["--target", "emulated"] if options.emulated else []
    for kind, steps, targets in (("cases", CASES, DEVICES), ("speed", SPEED, ["--target", "cuda"])):
        os.makedirs(os.path.join(options.folder, kind))
        for name, compiled in steps.items():
            if any(part in name for part in options.only or [""]):
                compile(name, [*compiled, *targets, *extra], os.path.join(options.folder, kind, f"{name}.gradus"))
                print(f"packed {kind}/{name}", flush=True)
    files = [os.path.join(folder, name) for folder, _, names in os.walk(options.folder) for name in names]
    total = sum(map(os.path.getsize, files))
    print(json.dumps({"folder": options.folder, "files": len(files), "bytes": total}))
    if total > MOST_BYTES:
        raise SystemExit(f"{options.folder} has {total / 1e6:.1f} MB; expected at most {MOST_BYTES / 1e6:.0f}")


if __name__ == "__main__":
    main()
