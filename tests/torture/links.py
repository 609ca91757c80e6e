"""Links and files of others where training writes: nobody's file changes but the run's own."""

import os

from training import MOST_SECONDS, Training, run

THEIRS = b"what somebody else has written\n"


class Links:
    """The checkpoint's name is a link, or the name under which it is made."""

    name = "links"

    def __init__(self, epochs):
        self.training = Training(self.name, 2)
        self.kinds = [self.link, self.dangling_link, self.loop, self.partial_link, self.partial_hard_link]
        self.tries, self.refused = 0, 0

    def at(self, name):
        return self.training.at(name)

    def once(self, chance):
        self.training.remove("linked")
        with open(self.at("theirs"), "wb") as file:
            file.write(THEIRS)
        kind = self.kinds[self.tries % len(self.kinds)]
        self.tries += 1
        kind()
        with open(self.at("theirs"), "rb") as file:
            if file.read() != THEIRS:
                raise AssertionError(f"{kind.__name__}: training changed a file of somebody else")

    def train(self, codes):
        """Trains in the name `linked`; the files are those of the whole run where it succeeds."""
        process = self.training.start(self.training.command("linked"))
        code = process.wait(MOST_SECONDS)
        if code not in codes:
            raise AssertionError(f"training ended with {code}: {self.training.said()}")
        if code == 0:
            self.training.expect_same_run("linked")
        self.refused += code != 0

    def link(self):
        """The link stays, and the file that it names is the checkpoint."""
        os.symlink(self.at("linked.elsewhere"), self.at("linked.safetensors"))
        run(self.training.command("linked", steps=7))
        if not os.path.islink(self.at("linked.safetensors")) or not os.path.isfile(self.at("linked.elsewhere")):
            raise AssertionError("a checkpoint took the place of a link")

    def dangling_link(self):
        os.symlink(self.at("nowhere/file"), self.at("linked.safetensors"))
        self.train({1, 2})

    def loop(self):
        os.symlink(self.at("linked.safetensors"), self.at("linked.safetensors"))
        self.train({1, 2})

    def partial_link(self):
        os.symlink(self.at("theirs"), self.at("linked.safetensors.gradus-partial"))
        self.train({0, 1, 2})

    def partial_hard_link(self):
        os.link(self.at("theirs"), self.at("linked.safetensors.gradus-partial"))
        self.train({0, 1, 2})

    def close(self):
        return f"{self.refused} refused in words, {self.tries - self.refused} trained; no file of others changed"
