"""The wheels that `./dev wheel` has built: their size, what they hold, and what they ask of a machine."""

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
LIMITS = {"gradus": 45e6, "gradus_runtime": 2e6}  # bytes


def wheel(name):
    found = sorted(glob.glob(os.path.join(WHEELS, f"{name}-*.whl")), key=os.path.getmtime)
    return found[-1] if found else None


def is_program(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


@unittest.skipUnless(all(map(wheel, LIMITS)), "there are no wheels: ./dev wheel builds them")
class Wheel(unittest.TestCase):
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

    def test_no_file_asks_for_a_newer_glibc_than_its_name_says(self):
        for name in LIMITS:
            with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel(name)) as files:
                files.extractall(folder)
                for path in glob.glob(os.path.join(folder, "**"), recursive=True):
                    if not os.path.isfile(path) or not is_program(path):
                        continue
                    text = subprocess.run(["objdump", "-T", path], check=True, capture_output=True, text=True).stdout
                    newest = max([int(number) for number in re.findall(r"\(GLIBC_2\.(\d+)", text)], default=0)
                    self.assertLessEqual(newest, 34, os.path.basename(path))


if __name__ == "__main__":
    unittest.main()
