"""libgradus.so as a deployer gets it: small, and needing nothing but the system."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from this_build import BUILD, is_sanitized  # noqa: E402

LIBRARY = os.path.join(BUILD, "lib", "libgradus.so")
SYSTEM = ("libc.so", "libm.so", "libgcc_s.so", "libstdc++.so", "libdl.so", "libpthread.so", "ld-linux")


def printed(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@unittest.skipIf(is_sanitized(), "sanitizers add to it")
class Libgradus(unittest.TestCase):
    def test_is_less_than_2_mb(self):
        with tempfile.NamedTemporaryFile() as stripped:
            printed("strip", "-o", stripped.name, LIBRARY)
            size = os.path.getsize(stripped.name)
        self.assertLess(size, 2 << 20)
        print(f"libgradus.so stripped: {size / 1e6:.2f} MB")

    def test_needs_only_the_system(self):
        lines = printed("readelf", "-d", LIBRARY).splitlines()
        needed = [line.split("[")[1].rstrip("]") for line in lines if "(NEEDED)" in line]
        self.assertTrue(needed)
        self.assertEqual([name for name in needed if not name.startswith(SYSTEM)], [])

    def test_exports_the_c_api_and_nothing_else(self):
        names = [line.split()[-1] for line in printed("nm", "-D", "--defined-only", LIBRARY).splitlines()]
        self.assertIn("gradus_step@@GRADUS_0.1", names)
        self.assertEqual([name for name in names if not name.startswith("gradus_")], [])


if __name__ == "__main__":
    unittest.main()
