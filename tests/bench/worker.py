"""The worker's end of the bench protocol, for the peers written in Python.

The driver starts `python peer_X.py WORKLOAD HOW` and speaks in lines: the worker
says `ready SECONDS` (the time to compile and make the first run), then answers
`run N` with `done NANOSECONDS`, `losses N` with `losses LOSS...` (those of N steps),
and `memory` with `memory BYTES` (peak resident).
"""

import resource
import sys
import time

import workloads


def serve(load):
    workload, how = workloads.BY_NAME[sys.argv[1]], sys.argv[2]
    start = time.perf_counter()
    run = load(workload, how)
    run(workload.smallest)
    say(f"ready {time.perf_counter() - start:.3f}")
    answer(run)


def answer(run):
    for line in sys.stdin:
        command, *rest = line.split()
        if command == "run":
            start = time.perf_counter_ns()
            run(int(rest[0]))
            say(f"done {time.perf_counter_ns() - start}")
        elif command == "losses":
            say("losses " + " ".join(f"{float(run(1)):.7g}" for _ in range(int(rest[0]))))
        elif command == "memory":
            say(f"memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}")
        else:
            break


def say(line):
    print(line, flush=True)
