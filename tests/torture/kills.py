"""Processes that end at any moment: training, and compiling."""

import os
import signal
import subprocess
import time

from training import GRADUS, MOST_SECONDS, Training, run

# Most by a signal that nobody can catch.
SIGNALS = [signal.SIGKILL] * 5 + [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


class KilledTraining:
    """Training is killed, resumed on another number of threads, killed, ..., until its end."""

    name = "kill_training"

    def __init__(self, epochs):
        began = time.monotonic()
        self.training = Training(self.name, epochs)
        self.longest = min(0.3, (time.monotonic() - began) / 4)
        self.kills = self.resumed = self.ended = 0

    def once(self, chance):
        # Every third dies while it starts, the others after they have saved, however slowly they start.
        waits = self.kills % 3 != 2
        if self.ends(chance.uniform(0, self.longest), waits, chance.choice(SIGNALS), chance.randint(1, 3)):
            self.count_end()
        else:
            self.kills += 1

    def ends(self, seconds, waits, number, threads):
        """Whether a run ends by itself within so many seconds, if `waits` of its first checkpoint; else it is killed."""
        training, before = self.training, self.training.saved("killed")
        process = training.start(training.command("killed", threads=threads))
        late = time.monotonic() + MOST_SECONDS
        while waits and process.poll() is None and training.saved("killed") == before:
            if time.monotonic() > late:
                raise subprocess.TimeoutExpired(process.args, MOST_SECONDS)
            time.sleep(0.005)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
            process.wait(MOST_SECONDS)
        self.resumed += before is not None and training.saved("killed") != before
        if process.returncode > 0 and process.returncode != 130:
            raise AssertionError(training.said())
        return process.returncode == 0

    def count_end(self):
        self.training.expect_same_run("killed")
        self.training.remove("killed")
        self.ended += 1

    def close(self):
        """The run under way comes to its end, too."""
        if self.training.saved("killed") or not self.ended:
            self.training.finish("killed")
            self.ended += 1
        return f"{self.kills} kills, {self.resumed} resumed runs that saved, {self.ended} ends in the same bits"


class KilledCompiling:
    """The compiler is killed while it writes over an artifact: the old one is there, or the new one."""

    name = "kill_compiling"

    def __init__(self, epochs):
        self.training = Training(self.name, 1)
        self.old = self.training.folder.bytes("net.gradus")
        began = time.monotonic()
        run(self.command())
        self.longest = 1.2 * (time.monotonic() - began)
        self.new = self.training.folder.bytes("net.gradus")
        self.counts = {"old": 0, "new": 0}

    def command(self):
        at = self.training.at
        return [GRADUS, "compile", at("net.mlir"), "--recipe", at("recipe.json"), "--set", "seed=4", "-o",
                at("net.gradus")]

    def once(self, chance):
        with open(self.training.at("net.gradus"), "wb") as file:
            file.write(self.old)
        process = self.training.start(self.command())
        try:
            process.wait(chance.uniform(0, self.longest))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        found = self.training.folder.bytes("net.gradus")
        if found not in (self.old, self.new):
            raise AssertionError(f"{self.training.at('net.gradus')} is neither the old artifact nor the new one")
        self.counts["old" if found == self.old else "new"] += 1

    def close(self):
        partial = self.training.at("net.gradus.gradus-partial")
        run(self.command())
        if self.training.folder.bytes("net.gradus") != self.new or os.path.exists(partial):
            raise AssertionError("a compilation after the kills does not end as one before them")
        return f"{self.counts['old']} left the old artifact, {self.counts['new']} the new one"
