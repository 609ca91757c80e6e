"""Kills and stops ranks of a training, lets them go on late, lets one sleep in its data, and starts many short runs.

Not among the tests of each change: `python3 tests/torture/ranks.py` takes minutes, with a build that has MPI. Prints
what became of the tries; exit code 1 where a promise was broken: the other ranks have ended within SECONDS, one
line of stderr names the rank and the last checkpoint, that is whole, and the run goes on in the bits of one that nobody harmed.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from training import DATA, EVERYTHING, GRADUS, Folder, begin, end_all, run  # noqa: E402
from resumed_training import wait_for  # noqa: E402

os.environ |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
SECONDS = 30  # in which the other ranks end
TIMEOUT = 3  # of --rank-timeout
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none"]
LAUNCHERS = {"mpirun": MPIRUN, "mpirun --enable-recovery": [*MPIRUN, "--enable-recovery"], "--ranks": None}


def ranks_of(process):
    """The processes of ranks among those that a process has started: {rank: process id}."""
    found, left = {}, [process.pid]
    while left:
        parent = left.pop()
        try:
            with open(f"/proc/{parent}/task/{parent}/children") as file:
                left += [int(child) for child in file.read().split()]
            with open(f"/proc/{parent}/environ") as file:
                rank = re.search("OMPI_COMM_WORLD_RANK=([0-9]+)\0", file.read())
        except (FileNotFoundError, ProcessLookupError):
            continue
        if rank:
            found[int(rank[1])] = parent
    return found


def runs(pid):
    """Whether a process is there that has not ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Run:
    """A run on a number of ranks that is harmed and goes on again and again."""

    def __init__(self, folder, artifact, ranks, steps):
        self.folder, self.artifact, self.ranks, self.steps = folder, artifact, ranks, steps
        run([*self.words("whole"), "--simulate-ranks", str(ranks)])

    def words(self, name, timeout=TIMEOUT):
        state = self.folder.at(f"{name}{self.ranks}.safetensors")
        resume = ["--resume", state] if os.path.exists(state) else ["--overwrite"]
        return [GRADUS, "train", self.artifact, *DATA, "--steps", str(self.steps), "--checkpoint", state, "--threads", "1",
                "--checkpoint-every", "40steps", "--rank-timeout", str(timeout), *resume]

    def start(self, launcher, name="harmed", timeout=TIMEOUT):
        words, mpirun = self.words(name, timeout), LAUNCHERS[launcher]
        command = [*mpirun, "-n", str(self.ranks), *words] if mpirun else [*words, "--ranks", str(self.ranks)]
        self.said = self.folder.at("said")
        with open(self.said, "w") as said:
            return begin(command, stdout=said, stderr=said)

    def saved(self, name="harmed"):
        try:
            return os.stat(self.folder.at(f"{name}{self.ranks}.safetensors")).st_mtime_ns
        except FileNotFoundError:
            return None

    def harm(self, launcher, number, chance):
        """Sends a signal to a rank at some moment after a save; the seconds until the others have ended, or None."""
        before, process = self.saved(), self.start(launcher)
        while self.saved() == before:
            if process.poll() is not None:
                return self.end(process)
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.3))
        ranks, rank = ranks_of(process), chance.randrange(self.ranks)
        if len(ranks) < self.ranks:
            process.wait(SECONDS)
            return self.end(process)
        os.kill(ranks[rank], number)
        began = time.monotonic()
        took = self.wait([pid for other, pid in ranks.items() if other != rank], began)
        if number == signal.SIGSTOP and runs(ranks[rank]):
            os.kill(ranks[rank], signal.SIGCONT)
        self.wait([*ranks.values(), process.pid], time.monotonic(), process)
        with open(self.said) as file:
            said = file.read()
        lines = re.findall("^gradus: .*", said, re.M)
        if len(lines) != 1 or not re.search(rf"rank {rank} \(.*; the last checkpoint is .* of step [0-9]+; continue", lines[0]):
            raise AssertionError(f"{launcher}: rank {rank} of {self.ranks} got signal {number}, and is not named with the last "
                                 f"checkpoint in one line:\n{said}")
        if launcher == "--ranks" and process.wait(SECONDS) != 1:
            raise AssertionError(f"rank {rank} of {self.ranks} got signal {number}; exit code {process.returncode}")
        return took, said

    def wait(self, pids, began, process=None):
        while any(runs(pid) for pid in pids):
            if process:
                process.poll()
            if time.monotonic() > began + SECONDS:
                raise AssertionError(f"there are ranks after {SECONDS} s:\n{open(self.said).read()}")
            time.sleep(0.01)
        return time.monotonic() - began

    def end(self, process):
        """The run came to its end before it was harmed: another begins."""
        if process.returncode:
            raise AssertionError(open(self.said).read())
        self.compare()
        return None

    def compare(self):
        names = [f"{name}{self.ranks}.safetensors" for name in ("whole", "harmed")]
        if self.folder.bytes(names[0]) != self.folder.bytes(names[1]):
            raise AssertionError(f"{self.ranks} ranks: the harmed run ends in other bits")
        os.remove(self.folder.at(names[1]))

    def finish(self):
        run([*self.words("harmed"), "--simulate-ranks", str(self.ranks)])
        self.compare()


def harmed(trainings, number, count, chance):
    """A line on ranks that got a signal."""
    times, silent, gone = [], 0, 0
    while len(times) < count:
        launcher = list(LAUNCHERS)[len(times) % len(LAUNCHERS)]
        found = chance.choice(trainings).harm(launcher, number, chance)
        if found:
            times.append(found[0])
            silent += "no sign of life" in found[1]
            gone += "is gone: it was killed" in found[1]
            print(f"  {number.name} {launcher}: the others ended after {found[0]:.1f} s", file=sys.stderr, flush=True)
    for training in trainings:
        training.finish()
    return f"{number.name}: {count} ranks, the others ended after at most {max(times, default=0):.1f} s; {silent} were " \
        f"found by their silence, {gone} at once; all resumed in the same bits"


def slow(training, chance, count):
    """A rank that is stopped and goes on lives: the others wait, and say for whom."""
    lines = 0
    for _ in range(count):
        if training.saved("slow"):
            os.remove(training.folder.at(f"slow{training.ranks}.safetensors"))
        process = training.start("mpirun", "slow", timeout=600)
        wait_for(training.folder.at(f"slow{training.ranks}.safetensors"), process)
        time.sleep(chance.uniform(0, 0.3))
        ranks, rank = ranks_of(process), chance.randrange(training.ranks)
        os.kill(ranks[rank], signal.SIGSTOP)
        time.sleep(12)  # for the lines after 5 s and 10 s
        os.kill(ranks[rank], signal.SIGCONT)
        time.sleep(1)
        process.send_signal(signal.SIGUSR1)
        code = process.wait(SECONDS)
        with open(training.said) as file:
            said = file.read()
        named = re.findall(r"^note: rank [0-9]+ .* has waited for .* s for rank ([0-9]+) .*", said, re.M)
        if code not in (0, 130) or not named or set(named) != {str(rank)} or "which has given no sign of life" not in said:
            raise AssertionError(f"rank {rank} of {training.ranks} was stopped; code {code}:\n{said}")
        lines += len(named)
    return f"{count} ranks were stopped for 12 s and waited for, as {lines} lines said, which named them"


# Lets rank 1 sleep once, where it opens an image.
SLEEPER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void sleepOnce(const char *path) {
  const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *trigger = getenv("SLEEP_TRIGGER");
  if (rank && trigger && !strcmp(rank, "1") && strstr(path, ".images/") && !unlink(trigger))
    sleep(atoi(getenv("SLEEP_SECONDS")));
}
#define OPEN(name)                                                                                                    \
  int name(const char *path, int flags, ...) {                                                                        \
    va_list list;                                                                                                     \
    va_start(list, flags);                                                                                            \
    int mode = va_arg(list, int);                                                                                     \
    sleepOnce(path);                                                                                                  \
    return ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name))(path, flags, mode);                             \
  }
OPEN(open)
OPEN(open64)
"""


def sleeping(training, ranks, seconds):
    """A rank that is stuck in its data lives: the others wait and say for whom."""
    at, images = training.folder.at, training.folder.at("digits.images")
    run([sys.executable, os.path.join(os.path.dirname(__file__), "..", "tool", "write_images.py"), images])
    for folder, _, names in os.walk(images):
        for name in names:
            shutil.copy(os.path.join(folder, name), os.path.join(folder, f"copy_{name}"))
    with open(at("sleeper.c"), "w") as file:
        file.write(SLEEPER)
    run(["clang-22", "-shared", "-fPIC", "-o", at("sleeper.so"), at("sleeper.c"), "-ldl"])
    with open(at("said"), "w") as said:
        process = begin([*MPIRUN, "-x", f"LD_PRELOAD={at('sleeper.so')}", "-x", f"SLEEP_TRIGGER={at('trigger')}", "-x",
                         f"SLEEP_SECONDS={seconds}", "-n", str(ranks), GRADUS, "train", training.artifact, "--data", images,
                         "--steps", "300", "--checkpoint", at("slept.safetensors"), "--checkpoint-every", "5steps",
                         "--overwrite", "--rank-timeout", str(TIMEOUT)], stdout=said, stderr=said)
    wait_for(at("slept.safetensors"), process)
    open(at("trigger"), "w").close()
    began = time.monotonic()
    code, took = process.wait(seconds + SECONDS), time.monotonic() - began
    with open(at("said")) as file:
        said = file.read()
    lines = re.findall(r"^note: rank 0 .* has waited for .* for rank 1 .*", said, re.M)
    if code or took < seconds or not lines:
        raise AssertionError(f"code {code} after {took:.0f} s:\n{said}")
    return f"a rank that slept {seconds} s was waited for, as {len(lines)} lines said: {lines[-1]}"


def short(training, ranks, count):
    """Runs that nobody harms: none may be taken for dead."""
    longest = 0
    for _ in range(count):
        began = time.monotonic()
        run([*MPIRUN, "-n", str(ranks), GRADUS, "train", training.artifact, *DATA, "--steps", "20", "--no-checkpoint",
             "--threads", "1", "--rank-timeout", "10"])
        longest = max(longest, time.monotonic() - began)
    return f"{count} short runs ended well, the longest after {longest:.1f} s, at load {os.getloadavg()[0]:.1f}"


def main():
    parser = argparse.ArgumentParser(prog="ranks.py", description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=20, help="ranks that get SIGKILL (%(default)s)")
    parser.add_argument("--stops", type=int, default=10, help="ranks that get SIGSTOP (%(default)s)")
    parser.add_argument("--slow", type=int, default=5, help="ranks that are stopped and go on (%(default)s)")
    parser.add_argument("--sleep", type=int, default=40, help="seconds that a rank sleeps in its data (%(default)s)")
    parser.add_argument("--short", type=int, default=200, help="short runs without harm (%(default)s)")
    parser.add_argument("--steps", type=int, default=6000, help="of the runs that are harmed (%(default)s)")
    parser.add_argument("--recipe", type=json.loads, default={}, metavar="JSON",
                        help='keys over those of the recipe, as \'{"distribution": {"mode": "data_parallel", "reduce": "adasum"}}\'')
    parser.add_argument("--ranks", type=int, nargs="+", default=(2, 3, 4), help="numbers of ranks (%(default)s)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="of the moments")
    options = parser.parse_args()
    print(f"ranks: seed {options.seed}", file=sys.stderr)
    chance, folder = random.Random(options.seed), Folder("torture_ranks")
    artifact = folder.compile("net.gradus", **{"deterministic": True, **EVERYTHING, "distribution": {"mode": "data_parallel"}, **options.recipe})
    try:
        trainings = [Run(folder, artifact, ranks, options.steps) for ranks in options.ranks]
        if options.kills:
            print(harmed(trainings, signal.SIGKILL, options.kills, chance))
        if options.stops:
            print(harmed(trainings, signal.SIGSTOP, options.stops, chance))
        if options.slow:
            print(slow(trainings[-1], chance, options.slow))
        if options.sleep:
            print(sleeping(trainings[0], options.ranks[0], options.sleep))
        if options.short:
            print(short(trainings[0], options.ranks[0], options.short))
    except AssertionError as broken:
        print(f"BROKEN: {broken}")
        return 1
    finally:
        end_all()
    return 0


if __name__ == "__main__":
    sys.exit(main())
