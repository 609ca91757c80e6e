"""What the Python package costs: a call beside one of the C API, and the way from a module to its first step beside torch.compile.

`./dev bench --python`, with --peers beside PyTorch. Calls from Python and from C take turns in processes that stay; of
each the least of all turns counts, as other processes only take time.
"""

import json
import os
import subprocess
import sys
import tempfile

import run
import workloads

CALLS = {"mlp": 2000, "lenet5": 100, "gpt-d256": 3}  # steps in a turn
TURNS = 15
MODULES = ("resnet50", "gpt2-124m")
FIRST_STEPS = 3  # of each


def artifact_of(workload):
    artifact = os.path.join(run.BUILD, "bench", f"{workload.name}-package.gradus")
    run.compile_seconds(workload, artifact, 1, "normal" if workload.group == workloads.FULL_SIZE else None)
    return artifact


def row(name, nanoseconds):
    """The least time of a call from each language, and what Python adds."""
    c, python = (min(nanoseconds[language]) / 1e3 for language in ("c", "python"))
    return {"name": name, "c us": c, "python us": python, "adds us": python - c, "ratio": python / c}


def calls(name):
    """A step by a call from C and from Python, in turns."""
    workload = workloads.BY_NAME[name]
    artifact, threads = artifact_of(workload), str(workloads.THREADS)
    python = run.python_of("numpy")
    workers = {"c": run.Worker("package-c", [os.path.join(run.BUILD, "bin", "gradus_bench_worker"), artifact, threads, "0", workload.bounds]),
               "python": run.Worker("package-python", [python, os.path.join(run.HERE, "peer_package.py"), artifact, threads, workload.bounds],
                                    {"GRADUS_BUILD": run.BUILD})}
    for worker in workers.values():
        worker.listen()
    times = {language: [] for language in workers}
    for turn in range(TURNS):
        for language in sorted(workers, reverse=bool(turn % 2)):
            times[language].append(workers[language].ask(f"run {CALLS[name]}")[0] / CALLS[name])
    for worker in workers.values():
        worker.close()
    return row(name, times)


def first_step(name, how):
    """Seconds and the loss. What PyTorch and Gradus keep on disk begins empty."""
    with tempfile.TemporaryDirectory(prefix="gradus_first_step.") as folder:
        kept = {"TORCHINDUCTOR_CACHE_DIR": os.path.join(folder, "inductor"), "GRADUS_CACHE": os.path.join(folder, "gradus"),
                "GRADUS_BUILD": run.BUILD, "OMP_NUM_THREADS": str(workloads.THREADS)}
        done = subprocess.run([run.python_of("modules"), os.path.join(run.HERE, "first_step.py"), name, how], capture_output=True,
                              text=True, env={**os.environ, **kept})
    if done.returncode:
        sys.exit(f"bench: {name}, {how}: {done.stderr.strip()}")
    return tuple(map(float, done.stdout.split()[-2:]))


def first_row(name, seconds):
    gradus, torch = (min(seconds[how]) for how in ("gradus", "torch"))
    return {"name": name, "gradus s": gradus, "torch.compile s": torch, "faster": torch / gradus}


def first_steps(name):
    seconds, losses = {"gradus": [], "torch": []}, {}
    for _ in range(FIRST_STEPS):
        for how, times in seconds.items():
            time, losses[how] = first_step(name, how)
            times.append(time)
    if abs(losses["gradus"] - losses["torch"]) > 1e-3 * abs(losses["torch"]):
        sys.exit(f"bench: {name}: a loss of {losses['gradus']} in Gradus and of {losses['torch']} in PyTorch: not the same work")
    return first_row(name, seconds)


def text_of(figures):
    return "| " + " | ".join(each if isinstance(each, str) else f"{each:.3f}" for each in figures.values()) + " |"


def table(rows):
    """Prints rows as they come, below a head, and returns them."""
    seen = []
    for figures in rows:
        if not seen:
            print("| " + " | ".join(figures) + " |\n|" + "---|" * len(figures))
        print(text_of(figures), flush=True)
        seen.append(figures)
    return seen


def bench(peers, only, path):
    rows = table(calls(name) for name in CALLS if only in name)
    if peers:
        rows += table(first_steps(name) for name in MODULES if only in name)
    with open(path, "w") as file:
        json.dump(rows, file, indent=1)
