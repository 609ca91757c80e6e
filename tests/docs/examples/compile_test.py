"""The programs in C and Rust that compile and train through gradus.h, made with an installed Gradus as readers make them."""

import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, os.path.join(HERE, "..", ".."))
from made_example import COMPILERS  # noqa: E402
from pages import BUILD, ROOT  # noqa: E402
from this_build import is_sanitized  # noqa: E402

EXAMPLE = os.path.join(ROOT, "docs", "examples", "compile")
DIGITS = os.path.join(ROOT, "docs", "examples", "digits")
WORK = os.path.join(BUILD, "tests", "compile_example")
TREE = os.path.join(WORK, "installed")
LIB = os.path.join(TREE, "lib")


def run(*command, status=0, **environment):
    done = subprocess.run(command, cwd=WORK, capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode != status:
        raise AssertionError(f"{' '.join(command)}\n{done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout if status == 0 else done.stderr


@unittest.skipIf(is_sanitized(), "programs without sanitizers do not load a library with them")
class Compile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(WORK, ignore_errors=True)
        os.makedirs(WORK)
        for component in ("runtime", "development", "compiler"):
            run("cmake", "--install", BUILD, "--prefix", TREE, "--component", component)

    def trains(self, program):
        printed = run(program, *(os.path.join(DIGITS, name) for name in ("lenet.onnx", "train.safetensors", "test.safetensors")))
        self.assertIn("epoch 12: accuracy ", printed)
        self.assertGreaterEqual(float(printed.splitlines()[-1].removeprefix("test accuracy: ")), 0.97)

    def test_a_c_program_trains(self):
        run("cmake", "-S", EXAMPLE, "-B", "c", *COMPILERS, f"-DCMAKE_PREFIX_PATH={TREE}")
        run("cmake", "--build", "c")
        program = os.path.join(WORK, "c", "compile_and_train")
        self.trains(program)
        words = run(program, "none.onnx", "a", "b", status=1)
        self.assertIn("compile_and_train: none.onnx: there is no such file", words)
        words = run(program, os.path.join(DIGITS, "train.safetensors"), "a", "b", status=1)
        self.assertIn("train.safetensors: is neither a model (.onnx, .mlir) nor an artifact", words)

    def test_without_the_compiler_it_says_so(self):
        run("clang-22", os.path.join(EXAMPLE, "compile_and_train.c"), f"-I{TREE}/include", f"-L{LIB}", "-lgradus", "-o", "alone")
        os.makedirs(os.path.join(WORK, "only"))
        shutil.copy(os.path.join(LIB, "libgradus.so.0"), os.path.join(WORK, "only"))
        words = run("./alone", os.path.join(DIGITS, "lenet.onnx"), "a", "b", status=1, LD_LIBRARY_PATH=os.path.join(WORK, "only"))
        self.assertIn("compiling: needs libgradus_compiler.so, which cannot be loaded: ", words)

    @unittest.skipUnless(shutil.which("rustc"), "rustc is not installed")
    def test_a_rust_program_trains(self):
        run("rustc", "--edition=2021", "-D", "warnings", os.path.join(EXAMPLE, "compile_and_train.rs"), "-L", LIB,
            "-C", f"link-arg=-Wl,-rpath,{LIB}", "-o", "rust")
        self.trains(os.path.join(WORK, "rust"))


if __name__ == "__main__":
    unittest.main()
