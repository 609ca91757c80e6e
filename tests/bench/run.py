"""Measures the workloads, with --peers beside PyTorch and JAX in the same run.

One worker process per framework stays alive and runs a few steps when its turn
comes, so that all meet the same machine. Around each turn a probe measures how
fast the machine is; repetitions are compared only with those made at the same
speed. Prints a table and writes all figures as JSON beside it.
"""

import argparse
import collections
import contextlib
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

import networks
import workloads

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(ROOT, "build"))
DEPS = os.environ.get("GRADUS_DEPS") or os.path.expanduser("~/.cache/gradus")
TCMALLOC = "/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4"
PEER_SPACE = 12 << 30  # bytes: PyTorch's wheel brings its GPU libraries
SAME_SPEED = 0.75  # of what a tenth of the probes exceed: below it the machine is in its slow state
FEWEST = 3  # repetitions that a comparison needs
FAR_BEHIND = 2  # times the fastest: a side that takes longer stays out after the fewest repetitions
LONGEST = 30  # seconds for the repetitions of a workload, where a busy machine takes longer
LONGEST_FULL_SIZE = 60
COMPARED_STEPS = 4  # those behind the first, whose losses are compared before a network that all sides share is timed
# Losses may differ by a part of what they change in these steps. That of f32 finds another network or optimizer. In 16 bits, where
# PyTorch's two ways, JAX and Gradus each round at other places, losses were up to 0.27 apart; a side that updates nothing is 1 apart.
LOSS_TOLERANCE = {"f32": 0.02, "bf16": 0.4}
COMPILES = 20  # warm runs of `gradus compile`; the shortest counts
PACKAGES = {"torch": ["torch", "torchvision", "pillow", "numpy", "setuptools"], "jax": ["jax", "numpy"],
            "numpy": ["numpy"],
            "modules": ["torch", "torchvision", "timm", "transformers", "onnx", "onnxscript", "numpy", "lightning", "datasets",
                        "accelerate"]}  # of `./dev test --peers`


def say(text):
    print(text, file=sys.stderr, flush=True)


class Worker:
    """A process that answers one line with one line."""

    def __init__(self, name, command, environment=None):
        self.name, self.compile_seconds, self.times = name, None, []
        self.log = open(os.path.join(BUILD, "bench", f"{name}.log"), "w")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
                                        text=True, cwd=HERE, env={**os.environ, **(environment or {})})

    def listen(self):
        line = self.process.stdout.readline().split()
        if not line:
            raise RuntimeError(f"{self.name} ended; see {self.log.name}")
        return [float(word) for word in line[1:]]

    def ask(self, line):
        with contextlib.suppress(BrokenPipeError):  # It has ended, as listen() will find.
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        return self.listen()

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.log.close()


class Probe(Worker):
    """Files each repetition under the state that the machine was in."""

    def __init__(self):
        super().__init__("probe", [os.path.join(BUILD, "bin", "gradus_bench_probe")])
        self.seen = []

    def around(self, run):
        before = self.ask("probe")
        result = run()
        after = self.ask("probe")
        speeds = [min(pair) for pair in zip(before, after)]
        self.seen.append(speeds)
        return result, speeds

    def state(self, speeds):
        """Per probe `F` or `S`: fast or slow, against the best tenth seen in this run."""
        best = [sorted(column)[len(column) * 9 // 10] for column in zip(*self.seen)]
        return "".join("F" if mine >= SAME_SPEED * most else "S" for mine, most in zip(speeds, best) if most)


def python_of(framework):
    """A virtual environment outside the tree with the framework in it."""
    folder = os.path.join(DEPS, "peers", framework)
    python = os.path.join(folder, "bin", "python")
    packages = " ".join(PACKAGES[framework])
    complete = os.path.join(folder, "complete")
    if os.path.exists(complete) and open(complete).read() == packages:
        return python
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    free = shutil.disk_usage(os.path.dirname(folder)).free
    if free < PEER_SPACE:
        sys.exit(f"bench: --peers needs {PEER_SPACE >> 30} GiB free under {DEPS}, found {free >> 30}")
    say(f"bench: installing {framework} into {folder}")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES[framework]], check=True)
    with open(complete, "w") as file:
        file.write(packages)
    return python


def start_peers(workload):
    """One after the other, each when asked for, so that they do not compile side by side."""
    script = os.path.join(HERE, "peer_{}.py").format
    environment = {"LD_PRELOAD": TCMALLOC} if os.path.exists(TCMALLOC) else {}
    if not environment:
        say(f"bench: {TCMALLOC} is missing, so PyTorch runs without it")
    for how in ("eager", "compile"):
        yield Worker(f"torch-{how}", [python_of("torch"), script("torch"), workload.name, how], environment)
    yield Worker("jax", [python_of("jax"), script("jax"), workload.name, "jit"])


def model_of(workload):
    """The path of its model. One that all sides share is written here, beside a file of its inputs."""
    if not workload.is_shared:
        return os.path.join(workloads.MODELS, workload.model)
    network = networks.NETWORKS[workload.network]
    path = os.path.join(BUILD, "bench", f"{workload.name}.onnx")
    network.onnx().write(path)
    with open(inputs_of(workload), "wb") as file:
        file.writelines(network.batch())
    return path


def inputs_of(workload):
    return os.path.join(BUILD, "bench", f"{workload.name}.inputs")


def compile_seconds(workload, artifact, times, initialize=None):
    """The shortest of some runs of `gradus compile`, from start of the process to its end."""
    recipe = ["--recipe", os.path.join(workloads.MODELS, workload.recipe)] if workload.recipe else []
    sizes = [word for size in workload.dims for word in ("--dim", size)]
    rule = ["--initialize", initialize] if initialize else []
    rule += ["--set", f"precision={workload.precision}"] if workload.precision != "f32" else []
    command = [os.path.join(BUILD, "bin", "gradus"), "compile", model_of(workload), *recipe, *sizes, *rule, "-o", artifact]
    shortest = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{workload.name}: {done.stderr.strip()}")
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


def start_gradus(workload, times=3):
    """A recorded model of full size has no weights: timed as it compiles with zeros, run with such as PyTorch starts with."""
    artifact = os.path.join(BUILD, "bench", f"{workload.name}.gradus")
    if workload.group == workloads.FULL_SIZE and not workload.is_shared:
        seconds = compile_seconds(workload, artifact, 2, "zeros")
        compile_seconds(workload, artifact, 1, "normal")
    else:
        seconds = compile_seconds(workload, artifact, times)
    queue = workload.smallest if workload.smallest > 1 else 0
    worker = Worker("gradus", [os.path.join(BUILD, "bin", "gradus_bench_worker"), artifact, str(workloads.THREADS),
                               str(queue), workload.bounds, *([inputs_of(workload)] if workload.is_shared else [])])
    worker.compile_seconds = seconds
    return worker


def ready(workers):
    """Those that come up; a peer that cannot do a workload is left out."""
    for worker in workers:
        try:
            seconds = worker.listen()[0]
            worker.compile_seconds = worker.compile_seconds or seconds
            yield worker
        except RuntimeError as problem:
            say(f"bench: {problem}")
            worker.close()


class OtherWork(RuntimeError):
    """A side does other work than the first, so that their times say nothing."""


def compare_losses(workload, losses):
    """Raises OtherWork where losses, by the sides' names, differ from the first's by more than a part of their change."""
    (first, expected), *others = losses.items()
    allowed = LOSS_TOLERANCE[workload.precision] * abs(expected[-1] - expected[0]) + 1e-6 * abs(expected[0])
    for name, found in others:
        for step, (mine, other) in enumerate(zip(expected, found)):
            if not abs(mine - other) <= allowed:
                raise OtherWork(f"{workload.name}: step {step + 2} has a loss of {mine} in {first} and of {other} in {name}, "
                                f"which is more than {allowed:.2g} apart: not the same work")


def measure(workload, workers, probe):
    """Lets the workers take turns, and beside an optimizer an in-place update of its streams, whose times it returns. Memory that
    lies idle for seconds may be slower afterwards (where a host takes it back), so a side with steps of seconds stays out soon."""
    start, streams = time.monotonic(), []
    longest = LONGEST_FULL_SIZE if workload.group == workloads.FULL_SIZE else LONGEST
    for repetition in range(workload.repetitions):
        if repetition >= FEWEST and time.monotonic() - start > longest:
            break
        if repetition == FEWEST:
            workers = keeping_up(workers)
        for offset in range(len(workers)):
            worker = workers[(repetition + offset) % len(workers)]
            (time_taken,), speeds = probe.around(lambda: worker.ask(f"run {workload.steps}"))
            worker.times.append((time_taken / workload.steps / 1e6, speeds))
        if workload.is_optimizer:
            streams.append(statistics.mean(streams_ms(probe) for _ in range(workload.steps)))
    return streams


def keeping_up(workers):
    """Gradus, and those that are not far behind the fastest side."""
    least = {worker: min(ms for ms, _ in worker.times) for worker in workers}
    return [worker for worker in workers if worker.name == "gradus" or least[worker] <= FAR_BEHIND * min(least.values())]


def common_state(workers, probe):
    """The state with the most repetitions of the worker that has fewest in it. Those that stayed out do not count."""
    workers = [worker for worker in workers if len(worker.times) != FEWEST] or workers
    counts = [collections.Counter(probe.state(speeds) for _, speeds in worker.times) for worker in workers]
    return max(set().union(*counts), key=lambda state: min(count[state] for count in counts))


def summary(worker, state, probe):
    times = [each for each, speeds in worker.times if probe.state(speeds) == state]
    every = [each for each, _ in worker.times]
    chosen = times if len(times) >= FEWEST else every
    return {"min_ms": min(chosen), "median_ms": statistics.median(chosen), "repetitions": len(chosen),
            "same_state": len(times) >= FEWEST, "compile_s": worker.compile_seconds,
            "peak_bytes": int(worker.ask("memory")[0]),
            "all": [{"ms": each, "state": probe.state(speeds)} for each, speeds in worker.times]}


@contextlib.contextmanager
def memory_for(workload, probe):
    """Memory in pieces, for a workload that asks for it; gives (huge pages cut, free ones left). The streams that it is
    compared with have their pages before."""
    if not workload.in_pieces:
        yield None
        return
    streams_ms(probe)
    say("bench: cutting memory to pieces")
    pieces = Worker("pieces", [os.path.join(BUILD, "bin", "gradus_bench_pieces")])
    yield [int(count) for count in pieces.listen()]
    pieces.close()


def streams_ms(probe):
    """An in-place update of what AdamW reads and writes, by a program in C."""
    elements = sum(rows * columns for rows, columns in workloads.ADAMW_SHAPES)
    return probe.ask(f"streams {elements}")[0] / 1e6


def bench(workload, peers, probe):
    say(f"bench: {workload.name}")
    with memory_for(workload, probe) as cut:
        result = measured(workload, peers, probe)
    if cut:
        result["huge_pages_cut"], result["huge_pages_left"] = cut
    return result


def measured(workload, peers, probe):
    own = iter([]) if peers == "only" else (start_gradus(each) for each in [workload])
    workers = list(ready(itertools.chain(own, start_peers(workload) if peers else [])))
    try:
        return compared(workload, workers, probe)
    finally:
        for worker in workers:
            worker.close()


def compared(workload, workers, probe):
    losses = {worker.name: worker.ask(f"losses {COMPARED_STEPS}") for worker in workers if workload.is_shared}
    if losses:
        compare_losses(workload, losses)
    streams = measure(workload, workers, probe)
    state = common_state(workers, probe)
    result = {"workload": workload.name, "what": workload.what, "precision": workload.precision, "goal": workload.goal, "state": state,
              "losses": losses, "frameworks": {worker.name: summary(worker, state, probe) for worker in workers}}
    if streams:
        result["streams"] = {"min_ms": min(streams), "median_ms": statistics.median(streams)}
    return result


def bench_all(picked, peers, path):
    """The results of the workloads, which are in the file, too, as soon as they are measured, and what went wrong with others."""
    probe, results, problems = Probe(), [], []
    for workload in picked:
        try:
            results.append(bench(workload, peers, probe))
        except RuntimeError as problem:
            say(f"bench: {problem}")
            problems.append(str(problem))
        with open(path, "w") as file:
            json.dump(results, file, indent=1)
    probe.close()
    return results, problems


def figures():
    """(what, value, goal) of what needs no peer: compile time and the library's size."""
    artifact = os.path.join(BUILD, "bench", "timed.gradus")
    for name, goal in (("mlp", 100), ("lenet5", 300)):
        seconds = compile_seconds(workloads.BY_NAME[name], artifact, COMPILES)
        yield f"compile {name}, minimum of {COMPILES}", f"{seconds * 1e3:.0f} ms", f"< {goal} ms"
    stripped = os.path.join(BUILD, "bench", "libgradus.so")
    subprocess.run(["/usr/lib/llvm-22/bin/llvm-strip", "-o", stripped, os.path.join(BUILD, "lib", "libgradus.so")], check=True)
    yield "libgradus.so, stripped", f"{os.path.getsize(stripped) / 1e6:.2f} MB", "< 2 MB"


def ratio(result, statistic):
    """How many times faster than the best peer, or None."""
    frameworks = dict(result["frameworks"])
    own = frameworks.pop("gradus", None)
    if not own or not frameworks:
        return None
    return min(peer[statistic] for peer in frameworks.values()) / own[statistic]


def number(value, form):
    return format(value, form) if value is not None else "-"


def row(result):
    frameworks = result["frameworks"]
    own, jax = frameworks.get("gradus"), frameworks.get("jax")
    torch = min((each for name, each in frameworks.items() if name.startswith("torch")),
                key=lambda each: each["min_ms"], default=None)

    def pair(each):
        return f"{each['min_ms']:.4f} {each['median_ms']:.4f}" if each else "-"

    return [result["workload"], result["precision"], pair(own), pair(torch), pair(jax),
            number(ratio(result, "min_ms"), ".2f"), number(ratio(result, "median_ms"), ".2f"), f"{result['goal']:.2f}",
            " ".join(f"{each['compile_s']:.2f}" if each else "-" for each in (own, torch, jax)),
            " ".join(f"{each['peak_bytes'] / 2**20:.0f}" if each else "-" for each in (own, torch, jax))]


def streams_text(result):
    if "streams" not in result:
        return ""
    streams = result["streams"]
    text = f"; in-place update of the same streams {streams['min_ms']:.3f} {streams['median_ms']:.3f} ms"
    if own := result["frameworks"].get("gradus"):
        text += f", {streams['min_ms'] / own['min_ms']:.2f} {streams['median_ms'] / own['median_ms']:.2f} of its rate"
    if "huge_pages_cut" in result:
        text += f"; {result['huge_pages_cut']} huge pages cut, {result['huge_pages_left']} left"
    return text


def print_table(results):
    head = ["workload", "precision", "Gradus ms", "PyTorch ms", "JAX ms", "ratio", "of medians", "goal", "compile s",
            "peak MiB"]
    rows = [head] + [row(result) for result in results]
    widths = [max(len(each[i]) for each in rows) for i in range(len(head))]
    for each in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(each, widths)).rstrip())
    print("\nms: minimum and median of a step, in the machine's commonest state. Ratio: times faster than the best peer."
          "\nCompile s and peak MiB: Gradus, PyTorch, JAX.")
    for result in results:
        print(f"{result['workload']}: {result['what']}; state {result['state']}"
              + streams_text(result)
              + "".join(f"; {name} met it in too few repetitions" for name, each in result["frameworks"].items()
                        if not each["same_state"]))


def chosen(only, full_size):
    """Those of full size belong to the group, or are named. An optimizer alone runs with both."""
    return [workload for workload in workloads.WORKLOADS
            if only in workload.name and (workload.is_optimizer or
                                          (workload.group == workloads.FULL_SIZE if full_size else only or not workload.group))]


def main():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("--peers", action="store_true", help="beside PyTorch and JAX")
    parser.add_argument("--peers-only", action="store_true", help="PyTorch and JAX alone")
    parser.add_argument("--only", default="", metavar="PATTERN", help="a part of the workloads' names")
    parser.add_argument("--methods", action="store_true", help="what training methods cost, instead of workloads")
    parser.add_argument("--compile", action="store_true", help="what compiling takes, instead of workloads")
    parser.add_argument("--data", action="store_true", help="what reading and decoding images takes, instead of workloads")
    parser.add_argument("--boost", action="store_true", help="what a step takes at Boost's levels, instead of workloads")
    parser.add_argument("--boost-accuracy", action="store_true", help="what Boost's methods do to accuracy, instead of workloads")
    parser.add_argument("--convolutions", action="store_true", help="what convolutions take by Winograd's algorithm and without, "
                        "instead of workloads")
    parser.add_argument("--convolutions-accuracy", action="store_true", help="what that does to accuracy, instead of workloads")
    parser.add_argument("--ranks", action="store_true", help="what two ranks take, beside PyTorch's, instead of workloads")
    parser.add_argument("--optimizers", action="store_true", help="how many steps and seconds optimizers need, instead of workloads")
    parser.add_argument("--predictions", action="store_true", help="predicted steps of two ranks beside simulated ones, instead of workloads")
    parser.add_argument("--python", action="store_true", help="what the Python package costs, with --peers beside torch.compile, "
                        "instead of workloads")
    parser.add_argument("--dim-reduce", action="store_true", help="what DimReduce costs and brings, instead of workloads")
    parser.add_argument("--quick", action="store_true", help="with --optimizers: a tenth of the steps, two trials and one seed, to try it")
    parser.add_argument("--mnist", default="", metavar="FOLDER",
                        help="with --boost-accuracy, --convolutions-accuracy and --optimizers: what docs/examples/mnist/make_data.py made")
    parser.add_argument("--seeds", type=int, help="with --boost-accuracy and --convolutions-accuracy: runs of each (5); with --optimizers: "
                        "of the best (3); with --dim-reduce: of each (3)")
    parser.add_argument("--full-size", action="store_true", help="the networks of full size, which run only when asked for")
    parser.add_argument("--json", default=os.path.join(BUILD, "bench", "results.json"), metavar="FILE")
    arguments = parser.parse_args()
    os.makedirs(os.path.join(BUILD, "bench"), exist_ok=True)
    if arguments.methods:
        import methods
        return methods.bench(arguments.peers, arguments.json)
    if arguments.compile:
        import compiling
        return compiling.bench(os.path.join(BUILD, "bin", "gradus"), arguments.only, arguments.json)
    if arguments.data:
        import data
        return data.bench(arguments.peers, arguments.json)
    if arguments.ranks:
        import ranks
        return ranks.bench(arguments.only, arguments.json)
    if arguments.optimizers:
        import optimizers
        return optimizers.bench(arguments)
    if arguments.predictions:
        import predictions
        return predictions.bench(arguments.only, arguments.json)
    if arguments.python:
        import package
        return package.bench(arguments.peers, arguments.only, arguments.json)
    if arguments.dim_reduce:
        import dim_reduce
        return dim_reduce.bench(arguments)
    if arguments.boost or arguments.boost_accuracy:
        import boost
        return boost.bench(arguments)
    if arguments.convolutions or arguments.convolutions_accuracy:
        import convolutions
        return convolutions.bench(arguments)
    peers = "only" if arguments.peers_only else arguments.peers
    results, problems = bench_all(chosen(arguments.only, arguments.full_size), peers, arguments.json)
    print_table(results)
    if peers != "only" and not arguments.only and not arguments.full_size:
        for what, value, goal in figures():
            print(f"{what}: {value} (goal {goal})")
    print(f"figures: {arguments.json}")
    if problems:
        sys.exit("\n".join(["bench: left out:", *problems]))


if __name__ == "__main__":
    main()
