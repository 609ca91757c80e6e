"""artifact_seeds.py FOLDER: compiles the artifacts that forging starts from.

By the tool that PATH or GRADUS names. They hold no code beyond the second level of x86-64, so that every machine runs
them.
"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "..", "data", "fuzz", "artifact")

# Name, recipe, options: kernels alone, schedules of several variants, library calls, sums over ranks, AdaSum of
# groups of them, what ranks select and gather, a plan for cards beside the processors'.
SEEDS = [
    ("kernels", "plain", ["--libraries", "never"]),
    ("methods", "methods", ["--libraries", "never"]),
    ("libraries", "plain", ["--libraries", "always"]),
    ("sums", "plain", ["--libraries", "never", "--set", "distribution.mode=data_parallel", "--set",
                       "distribution.bucket_bytes=256"]),
    ("groups", "plain", ["--libraries", "never", "--set", "distribution.mode=data_parallel", "--set",
                         "distribution.reduce=adasum", "--set", "distribution.adasum.within=2"]),
    ("selections", "plain", ["--libraries", "never", "--set", "distribution.mode=data_parallel", "--set",
                             "distribution.reduce=sparse_threshold", "--set", "distribution.threshold=0.01", "--set",
                             "distribution.ranks=2"]),
    ("cards", "plain", ["--libraries", "never", "--target", "emulated"]),
]


def compile_seeds(folder, gradus):
    os.makedirs(folder, exist_ok=True)
    for name, recipe, options in SEEDS:
        subprocess.run([gradus, "compile", os.path.join(SOURCES, "net.mlir"), "--recipe",
                        os.path.join(SOURCES, f"{recipe}.json"), "--target", "cpu:x86-64-v2", *options, "-o",
                        os.path.join(folder, f"whole_{name}.gradus")], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    compile_seeds(sys.argv[1], os.environ.get("GRADUS", "gradus"))
