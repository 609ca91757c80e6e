# How lit runs the .mlir and .test files of this folder. A .test file is a list
# of `# RUN:` lines about the tools; both find the tools by name and the
# examples' data by %data.
import os

import lit.formats

build = os.environ.get("GRADUS_BUILD") or os.path.join(os.path.dirname(__file__), "..", "build")
build = os.path.abspath(build)
llvm = "/usr/lib/llvm-22/bin"
root = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))

config.name = "gradus"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".mlir", ".test"]
config.excludes = ["data", "models"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
config.test_exec_root = os.path.join(build, "tests", "lit")

config.environment["PATH"] = os.pathsep.join([os.path.join(build, "bin"), llvm, os.environ["PATH"]])
for name in ("HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "ASAN_SYMBOLIZER_PATH"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

# Kernels that tests compile stay with the build.
config.environment["XDG_CACHE_HOME"] = os.path.join(build, "tests", "cache")

config.substitutions += [
    ("%digits", os.path.join(root, "docs", "examples", "digits")),
    ("%data", os.path.join(root, "tests", "data")),
    ("%root", root),
    ("%tensors", "python3 " + os.path.join(root, "tests", "end_to_end", "write_tensors.py")),
    ("%exits", "bash " + os.path.join(root, "tests", "end_to_end", "exits.sh")),
    ("%build", build),
]

if os.path.exists(os.path.join(build, "bin", "gradus-opt")):
    config.available_features.add("compiler")
with open(os.path.join(build, "CMakeCache.txt")) as cache:
    options = cache.read()
for feature in ("cuda", "onednn", "sanitize"):
    if f"GRADUS_{feature.upper()}:BOOL=ON" in options:
        config.available_features.add(feature)
# As many damaged models in both builds.
config.substitutions.append(("%damaging", "20s" if "sanitize" in config.available_features else "9s"))
with open("/proc/cpuinfo") as cpu:
    if "avx512_bf16" in cpu.read():  # the library's products of bf16
        config.available_features.add("bf16")
