"""The command line tool that the package brings along."""

import os
import subprocess
import sys
import tempfile

from ._core import FailedError
from ._files import whole_file

FOLDER = os.path.dirname(os.path.abspath(__file__))
TOOL = os.path.join(FOLDER, "bin", "gradus")


def main():
    """Becomes the tool: the command `gradus`."""
    os.execv(TOOL, ["gradus", *sys.argv[1:]])


def report(artifact, path):
    """The compiler's report on an artifact that carries its program."""
    if not os.path.exists(TOOL):
        raise FailedError(f"{TOOL}: is not there; the package gradus brings the tool that makes reports, gradus_runtime does not")
    with tempfile.TemporaryDirectory(prefix="gradus.") as folder:
        source, page = os.path.join(folder, "step.gradus"), os.path.join(folder, "report.html")
        artifact.copy_to(source)
        command = [TOOL, "compile", source, "-o", os.path.join(folder, "again.gradus"), "--report", page]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise FailedError(done.stderr.strip())
        with open(page, encoding="utf-8") as file:
            text = file.read()
    if path is None:
        return text
    with whole_file(path, "w", encoding="utf-8") as file:
        file.write(text)
