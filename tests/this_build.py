"""What a test knows of the build that it belongs to; programs have it of this_build.h."""

import os
import re
import subprocess

TESTS = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(TESTS, "..", "build"))


def told(name):
    """What CMake was told of an option or a folder."""
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as cache:
        return re.search(rf"^{name}:\w+=(.*)$", cache.read(), re.M)[1]


def is_sanitized():
    """Whether what is tested has the sanitizers in it."""
    return told("GRADUS_SANITIZE") == "ON"


def sanitizers():
    """The library that a program without sanitizers, such as Python, has to load before one with them; None: the compiler
    brings none."""
    asked = subprocess.run([told("CMAKE_CXX_COMPILER"), "-print-file-name=libclang_rt.asan-x86_64.so"], capture_output=True, text=True)
    path = asked.stdout.strip()
    return path if os.path.isabs(path) and os.path.exists(path) else None
