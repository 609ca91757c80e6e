"""No program of ours, built or installed, takes a library from the folder where
somebody stands, nor from a folder of the machine that built it."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from this_build import BUILD, is_sanitized, told  # noqa: E402

DIGITS = os.path.join(ROOT, "docs", "examples", "digits")
# What is opened by name while a program runs.
OPENED = ["libcublasLt.so.12", "libcublasLt.so.13", "libcuda.so.1", "libcudnn.so.9", "libdnnl.so.3", "libgradus_compiler.so",
          "libgradus_cuda.so", "libgradus_emulated.so", "libgradus_mpi.so"]
# What every Linux has that runs programs in C++; two of glibc's are the sanitizers'.
OF_THE_SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libresolv.so.2", "ld-linux-x86-64.so.2",
                 "libstdc++.so.6", "libgcc_s.so.1"}
TRAP = r"""#include <unistd.h>
__attribute__((constructor)) static void run(void) { if (write(2, "PLANTED\n", 8) != 8) _exit(1); }
"""


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", **options)


def files(tree, *folders):
    """All files below some folders of a tree, links left out."""
    for folder in folders:
        for path, _, names in os.walk(os.path.join(tree, folder)):
            yield from (os.path.join(path, name) for name in names if not os.path.islink(os.path.join(path, name)))


def is_elf(path):
    with open(path, "rb") as file:
        head = file.read(18)
    return head[:4] == b"\x7fELF" and head[16] in (2, 3)  # a program or a library


def dynamic(path, entry):
    """The values of an entry of the dynamic section, such as NEEDED."""
    return re.findall(rf"\({entry}\).*\[(.*)\]", run("readelf", "--dynamic", "--wide", path).stdout)


class LibraryPlaces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix="library_places.")
        cls.addClassCleanup(shutil.rmtree, cls.work)
        cls.tree = os.path.join(cls.work, "installed")
        done = run("cmake", "--install", BUILD, "--prefix", cls.tree)
        assert done.returncode == 0, done.stdout + done.stderr
        cls.built = [path for path in files(BUILD, "bin", "lib", "tests/bin", "tests/lib") if is_elf(path)]
        cls.installed = [path for path in files(cls.tree, ".") if is_elf(path)]
        cls.private = [told("GRADUS_DEPS"), os.path.expanduser("~"), ROOT, BUILD]

    def test_lists_of_folders_name_ours_and_the_systems(self):
        self.assertGreater(len(self.built), 10)
        self.assertGreaterEqual(len(self.installed), 4)
        bad = []
        for path in self.built + self.installed:
            lists = dynamic(path, "RUNPATH") + dynamic(path, "RPATH")
            for entry in [entry for each in lists for entry in each.split(":")]:
                ours = entry.startswith("$ORIGIN")
                systems = entry.startswith("/") and not any(entry.startswith(each) for each in self.private)
                if not ours and not systems:
                    bad.append(f"{path}: '{entry}'")
        self.assertEqual(bad, [])

    def test_what_runs_steps_needs_the_system_alone(self):
        for name in ("bin/gradus", "lib/libgradus.so", "lib/libgradus_cuda.so", "lib/libgradus_emulated.so"):
            self.assertEqual(set(dynamic(os.path.join(self.tree, name), "NEEDED")) - OF_THE_SYSTEM, set(), name)

    def test_no_installed_file_names_a_folder_of_the_builder(self):
        own = [path for path in files(self.tree, ".") if os.path.basename(path) != "libdnnl.so.3"]
        # Sanitizers say where in the sources they stopped.
        private = self.private[:1] if is_sanitized() else self.private
        bad = []
        for path in own:
            with open(path, "rb") as file:
                text = file.read()
            bad += [f"{path}: {each}" for each in private if each != "/" and (each + "/").encode() in text]
        self.assertEqual(bad, [])


class PlantedLibraries(unittest.TestCase):
    """A folder of somebody's has a library of each name that is ever looked up."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="planted.")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        source, trap = os.path.join(cls.folder, "trap.c"), os.path.join(cls.folder, "trap.so")
        with open(source, "w") as file:
            file.write(TRAP)
        assert run("clang-22", "-shared", "-fPIC", source, "-o", trap).returncode == 0
        needed = {name for path in files(BUILD, "bin", "lib") if is_elf(path) for name in dynamic(path, "NEEDED")}
        for name in needed:
            shutil.copy(trap, os.path.join(cls.folder, name))
        cls.opened = os.path.join(cls.folder, "opened")
        os.makedirs(cls.opened)
        for name in OPENED:
            shutil.copy(trap, os.path.join(cls.folder, name))
            shutil.copy(trap, os.path.join(cls.opened, name))

    def said(self, tool, *options, code=0, **environment):
        """What a tool of a tree writes to stderr in that folder."""
        clean = {key: value for key, value in os.environ.items() if key != "LD_LIBRARY_PATH"}
        done = run(tool, *options, cwd=self.folder, env=clean | environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr

    def built(self, name):
        return os.path.join(BUILD, "bin", name)

    def compile(self, **environment):
        return self.said(self.built("gradus"), "compile", os.path.join(DIGITS, "lenet.onnx"), "--recipe",
                         os.path.join(DIGITS, "recipe.json"), "--libraries", "always", "-o", "lenet.gradus",
                         **environment)

    def train(self, tool, **options):
        return self.said(tool, "train", "lenet.gradus", "--data", os.path.join(DIGITS, "train.safetensors"), "--steps", "1",
                         **options)

    def test_the_trap_shuts_where_the_environment_asks_for_it(self):
        done = run(self.built("gradus"), "doctor", cwd=self.opened, env=os.environ | {"LD_LIBRARY_PATH": ":"})
        self.assertIn("PLANTED", done.stderr)

    def test_built_tools_run_none(self):
        said = self.said(self.built("gradus"), "--version") + self.said(self.built("gradus"), "doctor")
        said += self.said(self.built("gradus-opt"), "--version") + self.compile() + self.train(self.built("gradus"))
        self.assertNotIn("PLANTED", said)

    def test_a_tool_without_its_libraries_runs_none(self):
        alone = os.path.join(self.folder, "alone")
        os.makedirs(alone, exist_ok=True)
        tool = shutil.copy(self.built("gradus"), alone)
        self.compile()
        done = run(tool, "train", "lenet.gradus", "--data", os.path.join(DIGITS, "train.safetensors"), "--steps", "1",
                   cwd=self.folder)
        self.assertNotIn("PLANTED", done.stderr + self.said(tool, "doctor"))

    def test_a_missing_onednn_is_said_with_the_way_to_do_without(self):
        self.compile()
        said = self.train(self.built("gradus"), code=1, GRADUS_ONEDNN_LIBRARY="/no/such/libdnnl.so.3")
        self.assertIn("needs oneDNN 3, which cannot be loaded: /no/such/libdnnl.so.3: cannot open shared object file", said)
        self.assertIn("GRADUS_ONEDNN_LIBRARY may name its file; a plan compiled with --libraries never needs none", said)

    def test_a_missing_onednn_is_said_while_compiling(self):
        self.assertNotIn("oneDNN", self.compile())
        said = self.compile(GRADUS_ONEDNN_LIBRARY="/no/such/libdnnl.so.3")
        self.assertIn("oneDNN cannot be asked (it was looked for as /no/such/libdnnl.so.3; GRADUS_ONEDNN_LIBRARY "
                      "may name its file): its calls are planned without", said)
        self.assertEqual(said.count("oneDNN cannot be asked"), 1)


if __name__ == "__main__":
    unittest.main()
