"""Descriptors that are closed when training starts, or while it runs."""

import os
import subprocess
import time

from training import MOST_SECONDS, Training, begin


class ClosedDescriptors:
    """Without standard input, output or error, in all mixtures: no word gets into a file of the run."""

    name = "closed_descriptors"

    def __init__(self, epochs):
        self.training = Training(self.name, min(epochs, 6))
        self.tries = 0

    def once(self, chance):
        mixture = [number for number in range(3) if self.tries % 7 + 1 >> number & 1]
        self.tries += 1
        self.training.remove("closed")
        process = begin(self.training.command("closed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                        preexec_fn=lambda: [os.close(each) for each in mixture])
        code = process.wait(MOST_SECONDS)
        if code:
            raise AssertionError(f"training without the descriptors {mixture} ended with {code}")
        self.training.expect_same_run("closed")

    def close(self):
        return f"{self.tries} runs in up to 7 mixtures, each with the same bits in its files"


class BrokenPipe:
    """Who reads the output goes away: training saves, and goes on later."""

    name = "broken_pipe"

    def __init__(self, epochs):
        self.training = Training(self.name, epochs)
        self.counts = {130: 0, 0: 0}

    def once(self, chance):
        self.training.remove("piped")
        process = self.training.start(self.training.command("piped"), stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(chance.uniform(0, 0.1))
        process.stdout.close()
        code = process.wait(MOST_SECONDS)
        if code not in self.counts:
            raise AssertionError(f"training whose reader went away ended with {code}: {self.training.said()}")
        self.counts[code] += 1
        self.training.finish("piped")

    def close(self):
        return f"{self.counts[130]} saved and stopped, {self.counts[0]} were done before"
