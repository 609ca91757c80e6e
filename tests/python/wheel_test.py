"""The wheels that `./dev wheel` has built: their size, what they hold, and what they ask of a machine."""

import email
import glob
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import unittest
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package import DIGITS, ROOT  # noqa: E402
from this_build import is_sanitized  # noqa: E402

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
            for path in sorted(path for ending in ("py", "pyi") for path in glob.glob(os.path.join(SOURCES, "**", f"*.{ending}"), recursive=True)):
                inside = f"{name}/{os.path.relpath(path, SOURCES)}"
                with open(path, "rb") as file:
                    if inside not in files.namelist() or files.read(inside) != file.read():
                        return f"{os.path.basename(wheel(name))} is older than {os.path.relpath(path, ROOT)}: ./dev wheel builds it anew"
    return ""


def unusable():
    if is_sanitized():
        return "wheels are built without sanitizers, and tested with the build without"
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


UNUSABLE = unusable()


@unittest.skipIf(UNUSABLE, UNUSABLE)
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
        own = {"LICENSE", "third_party.md", "libflatbuffers-dev", "nlohmann-json3-dev", "libstdc++-12-dev", "libabsl-dev", "libpng-dev",
               "libjpeg62-turbo-dev", "zlib1g-dev"}
        more = {"libcli11-dev", "libprotobuf-dev", "libllvm22", "libmlir-22", "libzstd1", "libgomp1", "onednn/LICENSE", "onednn/THIRD-PARTY-PROGRAMS", "onnx/LICENSE"}
        for name, expected in (("gradus_runtime", own), ("gradus", own | more)):
            files = zipfile.ZipFile(wheel(name)).namelist()
            self.assertEqual(sorted(each for each in expected if f"{name}/licences/{each}" not in files), [])

    def test_wheels_are_small_and_for_all_pythons_since_3_11(self):
        for name, limit in LIMITS.items():
            self.assertLessEqual(os.path.getsize(wheel(name)), limit)
            self.assertRegex(os.path.basename(wheel(name)), r"-cp311-abi3-manylinux_2_34_x86_64\.whl$")

    def test_they_have_the_package_the_libraries_and_the_command(self):
        whole, runtime = (set(zipfile.ZipFile(wheel(name)).namelist()) for name in LIMITS)
        for file in ("_core.abi3.so", "_core.pyi", "_training.abi3.so", "__init__.py", "py.typed", "lib/libgradus.so.0", "licences/LICENSE"):
            self.assertIn(f"gradus/{file}", whole)
            self.assertIn(f"gradus_runtime/{file}", runtime)
        self.assertLessEqual({"gradus/bin/gradus", "gradus/lib/libgradus_compiler.so", "gradus/lib/libdnnl.so.3", "gradus/recipe.schema.json"}, whole)
        self.assertFalse([name for name in runtime if "compiler" in name or "dnnl" in name])
        with zipfile.ZipFile(wheel("gradus")) as files:
            points = next(name for name in whole if name.endswith("entry_points.txt"))
            self.assertIn("gradus._tool:main", files.read(points).decode())

    def test_what_trains_needs_no_library_beside_the_systems(self):
        """Readers of images and all that they stand on are in it."""
        for name in LIMITS:
            with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel(name)) as files:
                text = subprocess.run([OBJDUMP, "-p", files.extract(f"{name}/_training.abi3.so", folder)], check=True, capture_output=True,
                                      text=True).stdout
            self.assertLessEqual(set(re.findall(r"NEEDED +(\S+)", text)), {"libm.so.6", "libgcc_s.so.1", "libc.so.6", "ld-linux-x86-64.so.2"})

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


SYSTEM = ("libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libdl.so.2", "libpthread.so.0", "librt.so.1")
SMALLER = shutil.ignore_patterns("__pycache__", "test", "tests", "idlelib", "tkinter", "ensurepip", "config-*", "*-packages")

TRAIN = """
import gradus
step = gradus.compile("/digits/lenet.onnx", recipe="/digits/recipe.json", cache=False)
assert not step.diagnostics, step.diagnostics
records = step.fit("/digits/train.safetensors", epochs=8, eval="/digits/test.safetensors")
assert records[-1]["test"]["accuracy"] > 0.97, records
step.save("/tmp/lenet.gradus")
print("trained")
"""

RUN = """
import gradus_runtime as gradus
with gradus.load("/tmp/lenet.gradus", state="/tmp/lenet.safetensors") as step:
    assert step.evaluate("/digits/test.safetensors")["accuracy"] > 0.97
    step.fit("/digits/train.safetensors")
    assert step["fc1.weight"].flags.writeable
try:
    gradus.compile("/digits/lenet.onnx")
except gradus.FailedError as error:
    assert "install the package gradus" in str(error), error
    print("ran")
"""


def no_root():
    """Why nobody can have a root folder of their own here; empty: one can."""
    if not all(map(shutil.which, ("unshare", "chroot"))):
        return "there is no unshare or chroot, which give a process a root of its own"
    done = subprocess.run(["unshare", "--map-root-user", "chroot", "/", "true"], capture_output=True, text=True)
    if done.returncode:
        return f"this system lets nobody have a root of their own: {done.stderr.strip()}"
    try:
        import numpy  # noqa: F401
    except ImportError as error:
        return f"numpy is not installed beside this Python ({error})"
    return "" if importlib.util.find_spec("pip") else "this Python has no pip, which installs the wheels"


NO_ROOT = UNUSABLE or no_root()


@unittest.skipIf(NO_ROOT, NO_ROOT)
class BareRoot(unittest.TestCase):
    """The wheels in a folder that is a process' root: with libc, libm, libstdc++, libgcc_s, Python and numpy, and no /proc."""

    @classmethod
    def setUpClass(cls):
        import numpy

        folder = tempfile.TemporaryDirectory(prefix="gradus_root.")
        cls.addClassCleanup(folder.cleanup)
        cls.root, cls.python = folder.name, os.path.realpath(sys.executable)
        stdlib = sysconfig.get_path("stdlib")
        own = [cls.python, *glob.glob(os.path.join(stdlib, "lib-dynload", "*.so"))]
        loaded = subprocess.run(["ldd", *own], check=True, capture_output=True, text=True).stdout
        libraries = sorted(set(re.findall(r"(/\S+) \(", loaded)))
        cls.places = sorted({os.path.dirname(path) for path in libraries})
        libraries += [found for name in SYSTEM for place in cls.places if os.path.exists(found := os.path.join(place, name))]
        for path in (cls.python, *libraries):
            cls.put(path, shutil.copy)
        cls.put(stdlib, cls.tree)
        packages = os.path.dirname(os.path.dirname(numpy.__file__))
        for name in filter(lambda name: re.fullmatch(r"numpy(\.libs)?", name), os.listdir(packages)):
            cls.tree(os.path.join(packages, name), os.path.join(cls.root, "site", name))
        subprocess.run([sys.executable, "-m", "pip", "--python", cls.python, "install", "--quiet", "--no-index", "--no-deps",
                        "--root-user-action=ignore", "--target", os.path.join(cls.root, "site"), *map(wheel, LIMITS)], check=True,
                       stdin=subprocess.DEVNULL)
        cls.tree(DIGITS, os.path.join(cls.root, "digits"))
        os.mkdir(os.path.join(cls.root, "tmp"))

    @staticmethod
    def tree(path, to):
        shutil.copytree(path, to, ignore=SMALLER, ignore_dangling_symlinks=True)

    @classmethod
    def put(cls, path, copy):
        """Copies it to the same place below the root."""
        os.makedirs(os.path.dirname(cls.root + path), exist_ok=True)
        copy(os.path.realpath(path), cls.root + path)

    def run_inside(self, *command):
        own_root = [shutil.which("unshare"), "--map-root-user", shutil.which("chroot"), self.root]
        done = subprocess.run([*own_root, *command], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={"PATH": "/site/bin", "PYTHONPATH": "/site", "HOME": "/tmp", "LD_LIBRARY_PATH": ":".join(self.places)})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_it_trains_saves_and_goes_on(self):
        self.assertEqual(self.run_inside(self.python, "-c", TRAIN), "trained\n")
        self.assertEqual(self.run_inside(self.python, "-c", RUN), "ran\n")

    def test_the_command_is_on_the_path(self):
        self.assertRegex(self.run_inside("gradus", "--version"), r"^gradus [\d.]+")
        code = 'import gradus; gradus.compile("/digits/lenet.onnx", recipe="/digits/recipe.json").save("/tmp/tool.gradus", state=False)'
        self.run_inside(self.python, "-c", code)
        said = self.run_inside("gradus", "train", "/tmp/tool.gradus", "--data", "/digits/train.safetensors", "--epochs", "1",
                               "--checkpoint", "/tmp/tool.safetensors")
        self.assertIn("loss", said)

    def test_importing_takes_60_ms_at_most(self):
        code = "import time; start = time.perf_counter(); import gradus; gradus.__version__; print(time.perf_counter() - start)"
        times = [float(self.run_inside(self.python, "-c", code)) for _ in range(9)]
        self.assertLessEqual(min(times), 0.06, "the fastest of nine, in seconds")


if __name__ == "__main__":
    unittest.main()
