"""An example of docs/examples that is a plug-in, made with an installed Gradus as its readers make it."""

import os
import shutil
import subprocess

from pages import BUILD, ROOT

COMPILERS = ["-DCMAKE_C_COMPILER=clang-22", "-DCMAKE_CXX_COMPILER=clang++-22", "-G", "Ninja"]


class MadeExample:
    """`work` is the folder in which commands run, `tree` the installation, `plugin` the library that make() builds.
    `environment` is added to that of each command."""

    def __init__(self, name, **environment):
        self.name, self.environment = name, environment
        self.work = os.path.join(BUILD, "tests", name)
        self.tree = os.path.join(self.work, "installed")
        self.plugin = os.path.join(self.work, "example", f"lib{name}.so")

    def make(self):
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        self.run("cmake", "--install", BUILD, "--prefix", self.tree)
        source = os.path.join(ROOT, "docs", "examples", self.name)
        self.run("cmake", "-S", source, "-B", "example", *COMPILERS, f"-DCMAKE_PREFIX_PATH={self.tree}")
        self.run("cmake", "--build", "example")

    def run(self, *command, status=0, folder=None):
        """What a command prints, which ends with this exit code; in `work`, or another folder."""
        done = subprocess.run(command, cwd=folder or self.work, capture_output=True, text=True, env={**os.environ, **self.environment})
        if done.returncode != status:
            raise AssertionError(f"{' '.join(command)}\n{done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
        return done.stdout + done.stderr

    def tool(self, name, *arguments, status=0):
        return self.run(os.path.join(self.tree, "bin", name), *arguments, status=status)
