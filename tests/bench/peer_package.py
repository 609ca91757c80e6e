"""The Python package's side of the bench: runs one artifact from Python when told to.

    peer_package.py ARTIFACT THREADS BOUNDS

The arguments are those of gradus_worker.c, the protocol is that of worker.py. Each step is a call of its own.
"""

import os
import resource
import sys
import time

import numpy
import worker

sys.path.insert(0, os.path.join(os.environ["GRADUS_BUILD"], "python"))
import gradus  # noqa: E402


def bounds_of(text):
    """What integer inputs are below: the default, and those of inputs that have their own."""
    default, *own = text.split(",")
    return int(default), {name: int(bound) for name, bound in (each.split("=") for each in own)}


def batch_of(step, bounds):
    random = numpy.random.default_rng(1)
    default, own = bounds
    for name, (kind, shape) in step.inputs.items():
        if kind.startswith("f"):
            yield random.uniform(-1, 1, shape).astype("float32")
        else:
            yield random.integers(0, own.get(name, default), shape, "int32" if kind == "i32" else "int64")


def main():
    artifact, threads, bounds = sys.argv[1:]
    start = time.perf_counter()
    step = gradus.load(artifact, threads=int(threads))
    batch = tuple(batch_of(step, bounds_of(bounds)))

    def run(steps):
        for _ in range(steps):
            step(*batch)

    run(1)
    worker.say(f"ready {time.perf_counter() - start:.3f}")
    worker.answer(run)


if __name__ == "__main__":
    main()
