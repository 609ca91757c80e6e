"""How fast images are read for training: `./dev bench --data`, with --peers beside PyTorch.

1,600 JPEGs of 500 x 375, which it makes, through a random crop scaled to 224 x 224
and flips, to floats. Gradus with one thread, and with one for each core; PyTorch's
DataLoader with as many worker processes, on torchvision's transforms. All take
turns on one machine; images a second are of the fastest epoch and of the median.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile

import run

IMAGES, SIZE, BATCH = 1600, 224, 32
REPETITIONS = 9  # epochs of each
GOAL = 1.5  # times PyTorch's DataLoader
LINEAR = 0.9  # of one thread's rate, for each thread


def counts(cores):
    """The numbers of threads that are measured: doubled up to the cores."""
    numbers = [1]
    while numbers[-1] * 2 <= cores:
        numbers.append(numbers[-1] * 2)
    return numbers if numbers[-1] == cores else [*numbers, cores]


def start(folder, peers):
    program = os.path.join(run.BUILD, "bin", "gradus_bench_data")
    sizes = [str(SIZE), str(BATCH)]
    threads = counts(len(os.sched_getaffinity(0)))
    for count in threads:
        yield run.Worker(f"gradus-{count}", [program, "read", folder, str(count), *sizes])
    if peers:
        script = os.path.join(run.HERE, "peer_torch_data.py")
        yield run.Worker(f"torch-{threads[-1]}", [run.python_of("torch"), script, folder, str(threads[-1]), *sizes])


def rates(times):
    """Images a second: of the fastest epoch, and of the median one."""
    images = IMAGES // BATCH * BATCH
    return {"best": images / min(times), "median": images / statistics.median(times)}


def ratios(result):
    """(what, of the fastest, of the medians, goal): beside PyTorch, and for each thread beside one."""
    own = {int(name.split("-")[1]): rate for name, rate in result.items() if name.startswith("gradus")}
    torch = [rate for name, rate in result.items() if name.startswith("torch")]
    most = max(own)
    for peer in torch:
        yield "times PyTorch's DataLoader", own[most]["best"] / peer["best"], own[most]["median"] / peer["median"], GOAL
    for count in sorted(own)[1:]:
        yield (f"of linear, {count} threads", own[count]["best"] / own[1]["best"] / count,
               own[count]["median"] / own[1]["median"] / count, LINEAR)


def measure(folder, peers):
    workers = list(run.ready(start(folder, peers)))
    for repetition in range(REPETITIONS):
        for offset in range(len(workers)):
            worker = workers[(repetition + offset) % len(workers)]
            worker.times.append(worker.ask("run 1")[0] / 1e9)
    for worker in workers:
        worker.close()
    return {worker.name: rates(worker.times) for worker in workers}


def bench(peers, path):
    if peers == "only":
        sys.exit("bench: --data measures Gradus, too; take --peers")
    with tempfile.TemporaryDirectory() as folder:
        run.say(f"bench: making {IMAGES} images in {folder}")
        program = os.path.join(run.BUILD, "bin", "gradus_bench_data")
        subprocess.run([program, "make", folder, str(IMAGES)], check=True)
        result = measure(folder, peers)
    print("images/s, of the fastest epoch and of the median")
    for name, rate in result.items():
        print(f"{name:12}{rate['best']:8.0f}{rate['median']:8.0f}")
    for what, best, median, goal in ratios(result):
        print(f"{what}: {best:.2f}, {median:.2f} (goal {goal})")
    with open(path, "w") as file:
        json.dump(result, file, indent=1)
