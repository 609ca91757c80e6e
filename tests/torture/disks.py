"""Disks that are full, files that may not grow: the old file stays whole, and the run can go on."""

import os
import resource
import shutil
import subprocess

from training import MOST_SECONDS, STEPS_OF_AN_EPOCH, Training, run

# Mounts a small disk that this command alone sees, with the files of a run on it, trains there, and takes them off.
ON_A_SMALL_DISK = """
mount -t tmpfs -o size="$SIZE" none "$DISK" || exit 99
cp "$FROM"/small.* "$DISK" || exit 98
"$@"
code=$?
cp "$DISK"/small.* "$FROM" && exit $code
"""


PAGE = os.sysconf("SC_PAGE_SIZE")


class Cramped:
    """A run that was begun where there was room goes on where there is little."""

    def __init__(self, epochs):
        self.training = Training(self.name, min(epochs, 6))
        self.checkpoint = os.path.getsize(self.training.at("whole.safetensors"))
        self.refused = self.ended = 0

    def files(self, name):
        return [self.training.at(file) for file in os.listdir(self.training.folder.path) if file.startswith(f"{name}.")]

    def begin(self):
        run(self.training.command("small", steps=STEPS_OF_AN_EPOCH))

    def judge(self, code):
        """The run failed in words, or did not; what it left goes on to the same end."""
        if code not in (0, 1):
            raise AssertionError(f"training ended with {code}: {self.training.said()}")
        if code and len(self.training.said()) < 20:
            raise AssertionError("training failed without words")
        self.refused += code == 1
        self.ended += code == 0
        self.training.finish("small")

    def close(self):
        return f"{self.refused} failed in words and went on later, {self.ended} had room enough"


class FullDisk(Cramped):
    """A disk (tmpfs) that fills up while checkpoints and logs are written."""

    name = "full_disk"

    def __init__(self, epochs):
        super().__init__(epochs)
        self.disk = self.training.at("disk")
        os.mkdir(self.disk)

    @staticmethod
    def missing():
        """Why there can be no such disk here; empty if there can."""
        if not shutil.which("unshare"):
            return "there is no unshare"
        mounts = ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"]
        done = subprocess.run(mounts, capture_output=True, text=True)
        return (done.stderr.strip() or "cannot mount") if done.returncode else ""

    def once(self, chance):
        self.begin()
        least = sum((os.path.getsize(path) // PAGE + 2) * PAGE for path in self.files("small"))
        size = least + chance.randint(0, self.checkpoint * 3 // 2)
        command = self.training.command("small", folder=self.disk)
        process = self.training.start(["unshare", "-rm", "bash", "-c", ON_A_SMALL_DISK, "torture", *command],
                                      env={**os.environ, "SIZE": str(size), "DISK": self.disk,
                                           "FROM": self.training.folder.path})
        self.judge(process.wait(MOST_SECONDS))


class Quota(Cramped):
    """Files that may not grow beyond a size (ulimit -f)."""

    name = "quota"

    def once(self, chance):
        self.begin()
        size = chance.randint(0, self.checkpoint * 5 // 4)
        process = self.training.start(
            self.training.command("small"),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY)),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        words = process.communicate(timeout=MOST_SECONDS)[0]
        with open(self.training.at("said"), "wb") as said:
            said.write(words)
        self.judge(process.returncode)
