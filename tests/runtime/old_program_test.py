"""Programs of earlier versions run with today's libgradus.so, as runtime/gradus.h promises."""

import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from this_build import BUILD, is_sanitized  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
OLD = os.path.join(ROOT, "tests", "data", "old_programs")
HEADERS = {version: os.path.join(OLD, version) for version in sorted(os.listdir(OLD)) if os.path.isdir(os.path.join(OLD, version))}
TODAY = os.path.join(ROOT, "runtime")
WORK = os.path.join(BUILD, "tests", "old_programs")
CC = ["clang-22", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]


def run(*command, **environment):
    done = subprocess.run(command, cwd=WORK, capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}\n{done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def functions_of(folder):
    with open(os.path.join(folder, "gradus.h"), encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    return sorted(re.findall(r"GRADUS_API[^;]*?(gradus_\w+)\(", text))


def exported():
    """{function: version of its symbol} of today's library."""
    lines = run("nm", "-D", "--defined-only", os.path.join(BUILD, "lib", "libgradus.so")).splitlines()
    return dict(line.split()[-1].split("@@") for line in lines if "@@" in line and " T " in line)


def old_library(version, folder):
    """A library with the functions of that version, and without anything in them: what an old program was linked to."""
    names = functions_of(HEADERS[version])
    with open(os.path.join(folder, "stub.c"), "w", encoding="utf-8") as file:
        file.writelines(f"void {name}(void) {{}}\n" for name in names)
    with open(os.path.join(folder, "stub.map"), "w", encoding="utf-8") as file:
        file.write(f"GRADUS_{version} {{ global: gradus_*; local: *; }};\n")
    run("clang-22", "-shared", "-fPIC", os.path.join(folder, "stub.c"), "-o", os.path.join(folder, "libgradus.so"),
        "-Wl,-soname,libgradus.so.0", f"-Wl,--version-script={folder}/stub.map")


@unittest.skipIf(is_sanitized(), "a program without sanitizers does not load a library with them")
class OldProgram(unittest.TestCase):
    def setUp(self):
        shutil.rmtree(WORK, ignore_errors=True)
        os.makedirs(WORK)

    @unittest.skipUnless(os.path.exists(os.path.join(BUILD, "lib", "libgradus_compiler.so")), "the compiler is not built")
    def test_runs_with_the_library_of_today(self):
        for version, header in HEADERS.items():
            folder = os.path.join(WORK, version)
            os.makedirs(folder)
            old_library(version, folder)
            run(*CC, f"-I{header}", os.path.join(header, "program.c"), f"-L{folder}", "-lgradus", "-o", f"{folder}/program")
            printed = run(f"{folder}/program", f"{folder}/saved.safetensors", LD_LIBRARY_PATH=os.path.join(BUILD, "lib"))
            self.assertEqual(printed, f"all as in {version}\n")

    def test_calls_each_function_of_its_header(self):
        for version, header in HEADERS.items():
            with open(os.path.join(header, "program.c"), encoding="utf-8") as file:
                text = file.read()
            self.assertEqual([name for name in functions_of(header) if f"{name}(" not in text], [])

    def test_finds_its_functions_under_their_version(self):
        today, before = exported(), set()
        for version, header in HEADERS.items():
            names = [name for name in functions_of(header) if name not in before]
            self.assertGreater(len(names), 0)
            self.assertEqual({name: today.get(name) for name in names}, dict.fromkeys(names, f"GRADUS_{version}"))
            before.update(names)
        self.assertEqual(sorted(today), functions_of(TODAY))

    def test_has_the_layout_of_today(self):
        layouts = {}
        for name, header in {**HEADERS, "today": TODAY}.items():
            program = os.path.join(WORK, f"layout_{name}")
            run(*CC, f"-I{header}", os.path.join(OLD, "layout.c"), "-o", program)
            layouts[name] = run(program).splitlines()
        for version in HEADERS:
            self.assertGreater(len(layouts[version]), 60)
            today = set(layouts["today"])  # It may have more: fields at the end, enumerators.
            self.assertEqual([line for line in layouts[version] if line not in today], [], version)

    @unittest.skipUnless(os.path.exists(os.path.join(BUILD, "lib", "libgradus_compiler.so")), "the compiler is not built")
    def test_may_have_fields_that_the_library_does_not_know(self):
        """Structs that begin with their size differ between a program and its library, and both write only what they have."""
        version, header = list(HEADERS.items())[-1]
        with open(os.path.join(TODAY, "gradus.h"), encoding="utf-8") as file:
            text = file.read()
        for last, struct in (("const char *collectives;", "gradus_options"), ("const char *const *extra;", "gradus_compile_options"),
                             ("void *stream;", "gradus_step_options")):
            self.assertEqual(text.count(f"  {last}"), 1)
            text = re.sub(rf"(?m)^(  {re.escape(last)}.*\n)(}} {struct};)", r"\1  void *later[9];\n\2", text)
        self.assertEqual(text.count("void *later[9];"), 3)
        with open(os.path.join(WORK, "gradus.h"), "w", encoding="utf-8") as file:
            file.write(text)
        run(*CC, f"-I{WORK}", os.path.join(self.copy_of(header), "program.c"), f"-L{os.path.join(BUILD, 'lib')}", "-lgradus",
            "-o", f"{WORK}/later")
        printed = run(f"{WORK}/later", f"{WORK}/saved.safetensors", LD_LIBRARY_PATH=os.path.join(BUILD, "lib"))
        self.assertEqual(printed, f"all as in {version}\n")

    def copy_of(self, header):
        """A folder with the program alone: its own header would be found before any other."""
        folder = os.path.join(WORK, "program")
        os.makedirs(folder)
        shutil.copy(os.path.join(header, "program.c"), folder)
        return folder


if __name__ == "__main__":
    unittest.main()
