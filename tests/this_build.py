"""What a test knows of the build that it belongs to; programs have it of this_build.h."""

import os
import re

TESTS = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(TESTS, "..", "build"))


def told(name):
    """What CMake was told of an option or a folder."""
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as cache:
        return re.search(rf"^{name}:\w+=(.*)$", cache.read(), re.M)[1]


def is_sanitized():
    """Whether what is tested has the sanitizers in it."""
    return told("GRADUS_SANITIZE") == "ON"
