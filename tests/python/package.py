"""The package as the build made it, or why it cannot be tested here; and the digits as a model with its data."""

import os
import re
import signal
import sys
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(ROOT, "build"))
PACKAGE = os.environ.get("GRADUS_PYTHON_PACKAGE") or os.path.join(BUILD, "python")
DIGITS = os.path.join(ROOT, "docs", "examples", "digits")
MODEL, RECIPE, TRAIN, TEST = (os.path.join(DIGITS, name) for name in (
    "lenet.onnx", "recipe.json", "train.safetensors", "test.safetensors"))

sys.path[:0] = [PACKAGE, os.path.join(ROOT, "tests")]
from this_build import is_sanitized  # noqa: E402

# What this Python had to load first (`environment_for` of tests/run.py). Other programs that it starts do without; a
# Python that imports the package gets it as `environment()`.
PRELOADED = os.environ.pop("LD_PRELOAD", None)

# Where whoever started the tests ignores Ctrl-C, as shells do of what they start in the background, Python never hears of it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def has_headers():
    """Whether CMake found headers of Python, so that the build has to have the extension."""
    try:
        with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as cache:
            found = re.search(r"^GRADUS_PYTHON_INCLUDE:\w+=(.*)$", cache.read(), re.M)
    except OSError:
        return False
    return found is not None and bool(found[1]) and not found[1].endswith("-NOTFOUND")


def missing():
    """Why the package cannot be tested, in words; empty: it can. An extension that could be built and is not there fails its tests."""
    if sys.version_info < (3, 11):
        return f"the package needs Python 3.11, this is {sys.version.split()[0]}"
    if not os.path.exists(os.path.join(PACKAGE, "gradus", "_core.abi3.so")) and not has_headers():
        return "the extension is not built: there were no headers of Python 3.11 or later (python3-dev)"
    if is_sanitized() and not PRELOADED:
        return "Python itself has no sanitizers, which it must load before the extension: ./dev test --sanitize lets it, where clang has them as a library"
    try:
        import numpy  # noqa: F401
    except ImportError as error:
        return f"numpy is not installed beside this Python ({error})"
    return ""


def environment(**more):
    """The environment of another Python that imports the package."""
    return os.environ | {"PYTHONPATH": PACKAGE} | ({"LD_PRELOAD": PRELOADED} if PRELOADED else {}) | more


def resident():
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


needs_package = unittest.skipIf(missing(), missing())


def digits(**options):
    """A step that trains LeNet-5 on digits of 28x28 pixels, 32 at a time."""
    import gradus

    return gradus.compile(MODEL, recipe=RECIPE, cache=False, **options)


def artifact():
    """The same as a file; compiled once for each process."""
    import tempfile

    if not _artifacts:
        folder = tempfile.TemporaryDirectory(prefix="gradus_python.")
        path = os.path.join(folder.name, "lenet.gradus")
        with digits() as step:
            step.save(path, state=False)
        _artifacts.extend((folder, path))
    return _artifacts[1]


_artifacts = []


def batch(seed=0, size=32):
    """Random images and labels."""
    import numpy

    random = numpy.random.default_rng(seed)
    return random.random((size, 1, 28, 28), numpy.float32), random.integers(0, 10, size)


def arrays(samples, seed=0):
    """Random images and labels by the names of the inputs."""
    image, label = batch(seed, samples)
    return {"image": image, "label": label}


class WithSteps(unittest.TestCase):
    """Has a folder of its own, and steps that are closed behind the test."""

    def setUp(self):
        import tempfile

        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def at(self, name):
        return os.path.join(self.folder, name)

    def load(self, path=None):
        import gradus

        step = gradus.load(path or artifact(), threads=1)
        self.addCleanup(step.close)
        return step
