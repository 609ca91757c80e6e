"""Harms training and compiling again and again: `./dev torture` builds the tool and calls this.

Each trial has a share of the minutes and is tried at moments that a seed draws. Prints a table of what became of the
tries; exit code 1 where a promise of docs/reliability.md was broken, with the seed that draws the same moments.
"""

import argparse
import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from descriptors import BrokenPipe, ClosedDescriptors  # noqa: E402
from disks import FullDisk, Quota  # noqa: E402
from kills import KilledCompiling, KilledTraining  # noqa: E402
from links import Links  # noqa: E402
from training import end_all  # noqa: E402

TRIALS = {trial.name: trial for trial in
          (KilledTraining, KilledCompiling, FullDisk, Quota, Links, ClosedDescriptors, BrokenPipe)}
EPOCHS = 60  # of the runs that are harmed


def torture(trial, seed, wants_more, epochs):
    """Tries as long as `wants_more(tries)` says; how often, and what became of it."""
    lacks = getattr(trial, "missing", lambda: "")()
    if lacks:
        return 0, f"not tried: {lacks}"
    chance, harmed, tries = random.Random(f"{trial.name} {seed}"), trial(epochs), 0
    while tries == 0 or wants_more(tries):
        harmed.once(chance)
        tries += 1
    return tries, harmed.close()


def report(trial, seed, seconds):
    """A line of the table, and whether the promises held."""
    print(f"torture: {trial.name} for {seconds:.0f} s", file=sys.stderr, flush=True)
    end = time.monotonic() + seconds
    try:
        tries, became = torture(trial, seed, lambda tries: time.monotonic() < end, EPOCHS)
        return (trial.name, tries, became), True
    except (AssertionError, subprocess.TimeoutExpired) as broken:
        print(f"\n{trial.name}: {broken}\n  the same moments again: ./dev torture --only {trial.name} --seed {seed}")
        return (trial.name, 0, "FAILED"), False
    finally:
        end_all()  # what hangs, too


def main():
    parser = argparse.ArgumentParser(prog="./dev torture", description="Harms training and compiling.")
    parser.add_argument("--minutes", type=float, default=4, help="for all trials together (%(default)s)")
    parser.add_argument("--only", choices=TRIALS, metavar="TRIAL", help=", ".join(TRIALS))
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="of the moments")
    options = parser.parse_args()
    trials = [TRIALS[options.only]] if options.only else list(TRIALS.values())
    print(f"torture: seed {options.seed}", file=sys.stderr)
    reports = [report(trial, options.seed, options.minutes * 60 / len(trials)) for trial in trials]
    print(f"\n{'trial':20}{'tries':>6}  what became of them")
    for (name, tries, became), _ in reports:
        print(f"{name:20}{tries:>6}  {became}")
    return 0 if all(held for _, held in reports) else 1


if __name__ == "__main__":
    sys.exit(main())
