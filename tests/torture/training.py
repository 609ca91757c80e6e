"""What the trials harm: a small net with all that a step may remember, and what its run must come to."""

import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "end_to_end"))
from resumed_training import BUILD, DATA, EVAL, EVERYTHING, GRADUS, Folder, run  # noqa: E402

STEPS_OF_AN_EPOCH = 44
ENDINGS = ("jsonl", "safetensors", "best.safetensors")  # of the files of a run
MOST_SECONDS = 600  # for a process that nothing holds up
started = []  # processes


def begin(command, **how):
    """A process that end_all() ends where a trial gave up on it."""
    started[:] = [process for process in started if process.poll() is None]
    started.append(subprocess.Popen(command, **{"stdin": subprocess.DEVNULL, "start_new_session": True, **how}))
    return started[-1]


def end_all():
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # and what it started
        process.wait()


class Training:
    """Runs by name in a folder of its own, and the run `whole`, which nobody harms."""

    def __init__(self, folder, epochs):
        self.folder, self.epochs = Folder(folder), epochs
        self.artifact = self.folder.compile("net.gradus", deterministic=True, **EVERYTHING)
        run(self.command("whole"))

    def at(self, name):
        return self.folder.at(name)

    def command(self, name, folder=None, threads=2, steps=None):
        """Begins the run, or goes on with it where it has a checkpoint; its files may lie in another folder."""
        path = self.at if folder is None else lambda file: os.path.join(folder, file)
        state = path(f"{name}.safetensors")
        resume = ["--resume", state] if os.path.exists(self.at(f"{name}.safetensors")) else ["--overwrite"]
        length = ["--steps", str(steps)] if steps else ["--epochs", str(self.epochs)]
        return [GRADUS, "train", self.artifact, *DATA, *EVAL, *length, "--threads", str(threads), "--log",
                path(f"{name}.jsonl"), "--checkpoint", state, "--checkpoint-every", "7steps", "--keep", "2", "--best",
                "loss", *resume]

    def start(self, command, **how):
        """A process whose words go to a file, unless `how` says otherwise."""
        with open(self.at("said"), "w") as said:
            return begin(command, **{"stdout": said, "stderr": said, **how})

    def said(self):
        return self.folder.bytes("said").decode(errors="replace")[-2000:]

    def saved(self, name):
        """What changes with each checkpoint that is written; nothing while there is none."""
        try:
            found = os.stat(self.at(f"{name}.safetensors"))
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns

    def expect_same_run(self, name):
        """Log and checkpoints are, bit by bit, those of the run that was left alone."""
        if self.folder.log("whole.jsonl") != self.folder.log(f"{name}.jsonl"):
            raise AssertionError(f"the log of {name} is another than that of whole")
        for ending in ENDINGS[1:]:
            if self.folder.bytes(f"whole.{ending}") != self.folder.bytes(f"{name}.{ending}"):
                raise AssertionError(f"{name}.{ending} has other bits than whole.{ending}")

    def finish(self, name):
        """Lets the run go on undisturbed, and expects the same end."""
        run(self.command(name))
        self.expect_same_run(name)
        self.remove(name)

    def remove(self, name):
        for file in os.listdir(self.folder.path):
            if file.startswith(f"{name}."):
                os.remove(self.at(file))
