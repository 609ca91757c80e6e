"""A step on one process and on two, of Gradus under mpirun and of PyTorch's DistributedDataParallel over gloo.

`./dev bench --ranks`: each process has one thread and its own batch. The four run in turn; of each the least
of all rounds counts, as other processes only take time. What two ranks add to a step is the difference.
"""

import json
import os
import subprocess

import run
import workloads

GRADUS = os.path.join(run.BUILD, "bin", "gradus")
NAMES = ("mlp", "lenet5", "gpt-d256")
ROUNDS, SECONDS = 4, 1.0


def output_of(words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, cwd=run.HERE)
    if done.returncode:
        raise SystemExit(f"bench: {' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def artifact_of(workload, mode):
    path = os.path.join(run.BUILD, "bench", f"{workload.name}-{mode}.gradus")
    sizes = [word for size in workload.dims for word in ("--dim", size)]
    output_of([GRADUS, "compile", os.path.join(workloads.MODELS, workload.model), "--recipe",
               os.path.join(workloads.MODELS, workload.recipe), *sizes, "--set", f"distribution.mode={mode}", "--initialize", "normal",
               "-o", path])
    return path


def of_gradus(artifact, *ranks):
    words = [GRADUS, "bench", artifact, "--threads", 1, "--seconds", SECONDS, "--random-states", "--json", *ranks]
    return json.loads(output_of(words))["call"]["ms_min"]


def of_torch(workload, *launcher):
    python = run.python_of("torch")
    words = [python, *launcher, os.path.join(run.HERE, "peer_torch_ranks.py"), workload.name, SECONDS]
    return min(map(float, output_of(words).split()))


def columns(workload):
    """What is measured of a workload: a name and a function that measures once."""
    one, shared = artifact_of(workload, "none"), artifact_of(workload, "data_parallel")
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    return {"gradus": lambda: of_gradus(one),
            "gradus, 2 ranks": lambda: of_gradus(shared, "--ranks", 2),
            "torch": lambda: of_torch(workload),
            "torch, 2 ranks": lambda: of_torch(workload, *launcher)}


def row(name, least):
    """The figures of a workload: milliseconds, what two ranks add, and how many times faster two ranks are."""
    added = {who: least[f"{who}, 2 ranks"] - least[who] for who in ("gradus", "torch")}
    return {"name": name, **least, "gradus adds": added["gradus"], "torch adds": added["torch"],
            "faster": least["torch, 2 ranks"] / least["gradus, 2 ranks"]}


def text_of(figures):
    cells = [f"{value:.3f}" if isinstance(value, float) else value for value in figures.values()]
    return "| " + " | ".join(cells) + " |"


def bench(only, path):
    rows = []
    for name in NAMES:
        if only not in name:
            continue
        measured = columns(workloads.BY_NAME[name])
        times = {column: [] for column in measured}
        for _ in range(ROUNDS):
            for column, measure in measured.items():
                times[column].append(measure())
        rows.append(row(name, {column: min(all_times) for column, all_times in times.items()}))
        if len(rows) == 1:
            print("| " + " | ".join(rows[0]) + " |")
        print(text_of(rows[-1]), flush=True)
    with open(path, "w") as file:
        json.dump(rows, file, indent=1)
