"""The wheels that `./dev wheel` has built: their size, what they hold, and what they ask of a machine."""

import email
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package import ROOT  # noqa: E402

WHEELS = os.path.join(ROOT, "build-wheel", "wheels")
SOURCES = os.path.join(ROOT, "python", "gradus")
OBJDUMP = "/usr/lib/llvm-22/bin/llvm-objdump"
LIMITS = {"gradus": 45e6, "gradus_runtime": 2e6}  # bytes


def wheel(name):
    found = sorted(glob.glob(os.path.join(WHEELS, f"{name}-*.whl")), key=os.path.getmtime)
    return found[-1] if found else None


def old():
    """Why the wheels are not of this tree: the first file of Python that differs; empty: they are."""
    for name in LIMITS:
        with zipfile.ZipFile(wheel(name)) as files:
            for path in sorted(glob.glob(os.path.join(SOURCES, "**", "*.py"), recursive=True)):
                inside = f"{name}/{os.path.relpath(path, SOURCES)}"
                with open(path, "rb") as file:
                    if inside not in files.namelist() or files.read(inside) != file.read():
                        return f"{os.path.basename(wheel(name))} is older than {os.path.relpath(path, ROOT)}: ./dev wheel builds it anew"
    return ""


def unusable():
    return old() if all(map(wheel, LIMITS)) else "there are no wheels: ./dev wheel builds them"


def projects():
    """{name of a wheel: the project that pyproject.toml says}"""
    import tomllib

    found = {}
    for name, folder in (("gradus", "python"), ("gradus_runtime", "python/runtime")):
        with open(os.path.join(ROOT, folder, "pyproject.toml"), "rb") as file:
            found[name] = tomllib.load(file)["project"]
    return found


def is_program(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


@unittest.skipIf(unusable(), unusable())
class Wheel(unittest.TestCase):
    def test_their_metadata_says_what_the_projects_do(self):
        for name, project in projects().items():
            with zipfile.ZipFile(wheel(name)) as files:
                path = next(each for each in files.namelist() if each.endswith(".dist-info/METADATA"))
                found = email.message_from_bytes(files.read(path))
            self.assertEqual(found["Name"], project["name"])
            self.assertEqual(found["Summary"], project["description"])
            self.assertEqual(found["License-Expression"], project["license"])
            self.assertEqual(found["Requires-Python"], project["requires-python"])
            self.assertEqual(found.get_all("Requires-Dist"), project["dependencies"])
            self.assertEqual(found.get_all("Classifier"), project["classifiers"])

    def test_they_have_the_licences_of_all_that_is_in_them(self):
        own = {"LICENSE", "third_party.md", "libflatbuffers-dev", "nlohmann-json3-dev", "libstdc++-12-dev"}
        more = {"libabsl-dev", "libpng-dev", "libjpeg62-turbo-dev", "zlib1g-dev", "libcli11-dev", "libprotobuf-dev", "libllvm22",
                "libmlir-22", "libzstd1", "libgomp1", "onednn/LICENSE", "onednn/THIRD-PARTY-PROGRAMS", "onnx/LICENSE"}
        for name, expected in (("gradus_runtime", own), ("gradus", own | more)):
            files = zipfile.ZipFile(wheel(name)).namelist()
            self.assertEqual(sorted(each for each in expected if f"{name}/licences/{each}" not in files), [])

    def test_wheels_are_small_and_for_all_pythons_since_3_11(self):
        for name, limit in LIMITS.items():
            self.assertLessEqual(os.path.getsize(wheel(name)), limit)
            self.assertRegex(os.path.basename(wheel(name)), r"-cp311-abi3-manylinux_2_34_x86_64\.whl$")

    def test_they_have_the_package_the_libraries_and_the_command(self):
        whole, runtime = (set(zipfile.ZipFile(wheel(name)).namelist()) for name in LIMITS)
        for file in ("_core.abi3.so", "__init__.py", "py.typed", "lib/libgradus.so.0", "licences/LICENSE"):
            self.assertIn(f"gradus/{file}", whole)
            self.assertIn(f"gradus_runtime/{file}", runtime)
        self.assertLessEqual({"gradus/bin/gradus", "gradus/lib/libgradus_compiler.so", "gradus/lib/libdnnl.so.3"}, whole)
        self.assertFalse([name for name in runtime if "compiler" in name or "dnnl" in name])
        with zipfile.ZipFile(wheel("gradus")) as files:
            points = next(name for name in whole if name.endswith("entry_points.txt"))
            self.assertIn("gradus._tool:main", files.read(points).decode())

    def test_no_file_has_a_path_of_who_built_it(self):
        own = re.compile("|".join(re.escape(path) for path in (ROOT + "/", os.path.expanduser("~") + "/")).encode())
        for name in LIMITS:
            with zipfile.ZipFile(wheel(name)) as files:
                self.assertEqual([file for file in files.namelist() if own.search(files.read(file))], [])

    def test_no_file_asks_for_newer_libraries_than_its_name_says(self):
        newest = {"GLIBC_2": (34,), "GLIBCXX_3": (4, 29), "CXXABI_1": (3, 13)}  # of manylinux_2_34
        for name in LIMITS:
            with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel(name)) as files:
                files.extractall(folder)
                for path in glob.glob(os.path.join(folder, "**"), recursive=True):
                    if not os.path.isfile(path) or not is_program(path):
                        continue
                    text = subprocess.run([OBJDUMP, "-T", path], check=True, capture_output=True, text=True).stdout
                    for library, limit in newest.items():
                        asked = {tuple(map(int, each.split("."))) for each in re.findall(rf"\({library}\.([\d.]+)", text)}
                        self.assertLessEqual(max(asked, default=()), limit, f"{library} in {os.path.basename(path)}")


if __name__ == "__main__":
    unittest.main()
