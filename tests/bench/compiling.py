"""What compiling takes, as `./dev bench --compile` measures it: a ladder of layers, networks of many shapes of
convolutions, a file of many weights. Seconds of CPU time, as other processes do not change them much."""

import json
import os
import subprocess
import sys
import tempfile
import time

import compile_models

RUNS = 3  # of each; the least counts
LAYERS = (6, 12, 24, 48, 96)
LOSS = {"type": "softmax_cross_entropy", "output": "logits"}
OPTIMIZER = {"type": "adamw", "learning_rate": 0.001}


def recipe(**loss):
    return {"loss": loss, "optimizer": OPTIMIZER}


def models():
    """(name, what makes it, how it trains)"""
    for layers in LAYERS:
        yield f"gpt-{layers}", lambda layers=layers: compile_models.gpt(layers), {
            **recipe(**LOSS, class_axis=2), "clip": {"type": "global_norm", "value": 1.0}, "fixed": compile_models.GPT_CONSTANTS}
    for make in (compile_models.resnet50, compile_models.efficientnet_b0, compile_models.mixnet_s, compile_models.ghostnetv2):
        yield make.__name__, make, recipe(**LOSS, class_axis=1)
    yield "mlp-304m", compile_models.wide_mlp, {"loss": {"type": "mse", "output": "y"}, "optimizer": {"type": "sgd"}}


def run(command):
    """Seconds by the clock, of the processor for the program and for the system, and the most bytes of memory."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    with process.stderr as stderr:
        words = stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"bench: {' '.join(command)}: {words.strip()}")
    return time.perf_counter() - start, used.ru_utime, used.ru_stime, used.ru_maxrss * 1024


def measure(gradus, folder, name, make, how):
    model, settings = os.path.join(folder, f"{name}.onnx"), os.path.join(folder, f"{name}.json")
    make().write(model)
    with open(settings, "w") as file:
        json.dump(how, file)
    command = [gradus, "compile", model, "--recipe", settings, "-o", os.path.join(folder, f"{name}.gradus")]
    runs = [run(command) for _ in range(RUNS)]
    wall, user, system, peak = (min(each) for each in zip(*runs))
    size = os.path.getsize(model)
    os.remove(model)
    return {"model": name, "model_bytes": size, "seconds": wall, "user_seconds": user, "system_seconds": system,
            "peak_bytes": peak}


def line(cells):
    print(f"{cells[0]:<16}" + "".join(f"{cell:>12}" for cell in cells[1:]), flush=True)


def bench(gradus, only, output):
    results = []
    line(["model", "file MiB", "CPU s", "of system", "by clock s", "peak MiB"])
    with tempfile.TemporaryDirectory(dir=os.path.dirname(output)) as folder:
        for name, make, how in models():
            if only not in name:
                continue
            found = measure(gradus, folder, name, make, how)
            results.append(found)
            line([name, f"{found['model_bytes'] / 2**20:.0f}", f"{found['user_seconds'] + found['system_seconds']:.2f}",
                  f"{found['system_seconds']:.2f}", f"{found['seconds']:.2f}", f"{found['peak_bytes'] / 2**20:.0f}"])
    with open(output, "w") as file:
        json.dump(results, file, indent=1)
    print(f"figures: {output}")
