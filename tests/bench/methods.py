"""What training methods cost: `./dev bench --methods`, with --peers beside PyTorch.

Each method changes AdamW's update of 30 M parameters by some bytes a parameter.
All of them, and an in-place update of AdamW's streams written in C, take turns on
one machine; a method may cost its own bytes at the rate of that update and a
tenth more. Then a whole step of a small GPT: with and without clipping and the
finite check, and adding gradients up instead of updating by them.
"""

import json
import os
import subprocess
from dataclasses import dataclass

import run
import workloads

PARAMETERS = sum(rows * columns for rows, columns in workloads.ADAMW_SHAPES)
ADAMW_BYTES = 28  # read and write weight and moments, read the gradient
GRADIENT_BYTES = 4
STARTS, PEER_STARTS = 5, 2  # processes of each, as memory lies better or worse in each
REPETITIONS, STEPS = 4, 2  # in each
SAME_STATE = 1.15  # times the least of the plain update
ROUNDS, SECONDS = 4, 1.5  # of whole steps


@dataclass
class Method:
    name: str
    what: str
    own_bytes: int  # a parameter, beside AdamW's
    settings: tuple = ()
    model: str = "adamw_30m.mlir"


METHODS = [
    Method("adamw", "AdamW", 0),
    Method("copies", "bf16 copies of the weights", 2, model="adamw_30m_copies.mlir"),
    Method("ema", "averaged weights", 8, ('ema={"decay":0.999}',)),
    Method("clip", "clipping by the global norm", 4, ('clip={"type":"global_norm","value":1.0}',)),
    Method("finite", "finite check, skips steps", 4, ("on_nonfinite=skip",)),
    Method("scale", "dynamic loss scale, with the check", 4, ('loss_scale={"type":"dynamic"}',)),
]
SGD = 'optimizer={"type":"sgd","learning_rate":0.01}'
WHOLE = {  # name -> settings, graph
    "adamw": ((), "train"),
    "clip": (METHODS[3].settings, "train"),
    "finite": (METHODS[4].settings, "train"),
    "clip and finite": (METHODS[3].settings + METHODS[4].settings, "train"),
    "centralization": (("gradient_centralization={}",), "train"),
    "sgd": ((SGD,), "train"),
    "accumulate": ((SGD, "accumulation=1000000"), "train_accumulate"),
}


def build(folder, *names):
    return os.path.join(run.BUILD, folder, *names)


def compiled(name, model, settings, *options):
    artifact = build("bench", f"method-{name.replace(' ', '-')}.gradus")
    words = [word for setting in settings for word in ("--set", setting)]
    subprocess.run([build("bin", "gradus"), "compile", os.path.join(workloads.MODELS, model), *options, *words, "-o", artifact],
                   check=True, capture_output=True)
    return artifact


# -- the optimizer alone ---------------------------------------------------------


def start(method, artifact):
    return run.Worker(f"method-{method.name}", [build("bin", "gradus_bench_worker"), artifact, str(workloads.THREADS), "0", "2"])


def start_torch(method):
    script = os.path.join(run.HERE, "peer_torch_methods.py")
    return run.Worker(f"torch-{method.name}", [run.python_of("torch"), script, method.name])


def least_time(worker):
    """Milliseconds of a step."""
    worker.listen()
    least = min(worker.ask(f"run {STEPS}")[0] / STEPS / 1e6 for _ in range(REPETITIONS))
    worker.close()
    return least


def least_times(peers):
    """Of each method and of the plain update, in turns."""
    artifacts = {method.name: compiled(method.name, method.model, method.settings) for method in METHODS}
    probe = run.Worker("probe", [build("bin", "gradus_bench_probe")])
    seen = {}  # name -> (time, that of the plain update before and after, the larger)

    def plain():
        return probe.ask(f"streams {PARAMETERS}")[0] / 1e6

    def note(worker):
        before = plain()
        seen.setdefault(worker.name, []).append((least_time(worker), max(before, plain())))

    for round in range(STARTS):
        for method in METHODS:
            note(start(method, artifacts[method.name]))
            if peers and round < PEER_STARTS:
                note(start_torch(method))
    probe.close()
    return in_one_state(seen)


def in_one_state(seen):
    """The least time of each while the machine was as fast as ever, by the plain update; of all where it never was."""
    fastest = min(plain for each in seen.values() for _, plain in each)
    times = {name: min([time for time, plain in each if plain < SAME_STATE * fastest] or [time for time, _ in each])
             for name, each in seen.items()}
    return {**times, "plain": fastest}


def verdict(method, times):
    """(milliseconds, what it may take by the rate of the plain update)"""
    per_byte = times["plain"] / ADAMW_BYTES
    mine, adamw = times[f"method-{method.name}"], times["method-adamw"]
    if method.name in ("adamw", "copies"):
        return mine, (ADAMW_BYTES + method.own_bytes) * per_byte / 0.85
    return mine, adamw + 1.1 * method.own_bytes * per_byte


def alone(peers):
    times = least_times(peers)
    print(f"in-place update of AdamW's streams, 30 M parameters: {times['plain']:.2f} ms")
    for method in METHODS:
        mine, allowed = verdict(method, times)
        torch = f"{times[f'torch-{method.name}']:.2f}" if peers else "-"
        print(f"{method.what:36} +{method.own_bytes} bytes  {mine:6.2f} ms  goal < {allowed:5.2f}  PyTorch {torch}")
    return times


# -- a whole step ----------------------------------------------------------------


def timed(artifact, graph):
    done = subprocess.run([build("bin", "gradus"), "bench", artifact, "--graph", graph, "--threads", str(workloads.THREADS),
                           "--seconds", str(SECONDS), "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def kernels(rounds, prefix=""):
    """Milliseconds of the kernels whose names begin so, each at its least."""
    return sum(min(each["us"] for each in command) for command in zip(*(one["commands"] for one in rounds))
               if command[0]["kind"] == "kernel" and command[0]["name"].startswith(prefix)) / 1e3


def whole():
    recipe = os.path.join(workloads.MODELS, "transformer.json")
    made = {name: (compiled(name, "gpt_d256.onnx", settings, "--recipe", recipe, "--initialize", "normal"), graph)
            for name, (settings, graph) in WHOLE.items()}
    rounds = {name: [] for name in made}
    for _ in range(ROUNDS):
        for name, (artifact, graph) in made.items():
            rounds[name].append(timed(artifact, graph))
    optimizer = kernels(rounds["adamw"], "adamw")
    print(f"GPT of 256, 4 x 256 tokens: its optimizer takes {optimizer:.2f} ms")
    for name in ("clip", "finite", "clip and finite"):
        cost = kernels(rounds[name]) - kernels(rounds["adamw"])
        print(f"{name:36} {cost:6.2f} ms, {cost / optimizer:.0%} of it (goal <= 15% each)")
    print(f"{'gradient centralization':36} {kernels(rounds['centralization']) - kernels(rounds['adamw']):6.2f} ms; "
          f"one more read of the gradients is {optimizer * GRADIENT_BYTES / ADAMW_BYTES:.2f}")
    least = {name: min(one["step"]["ms_min"] for one in each) for name, each in rounds.items()}
    print(f"a step that accumulates {least['accumulate']:.1f} ms, one of sgd, which moves as many bytes, {least['sgd']:.1f} ms "
          f"({least['accumulate'] / least['sgd']:.3f}, goal <= 1.05)")
    return {name: [{"ms_min": one["step"]["ms_min"], "kernels_ms": kernels([one])} for one in each]
            for name, each in rounds.items()}


def bench(peers, path):
    figures = {"alone": alone(peers), "whole": whole()}
    with open(path, "w") as file:
        json.dump(figures, file, indent=1)
