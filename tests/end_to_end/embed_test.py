"""The runtime alone, built without LLVM, installed and moved, serves a C program."""

import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from this_build import BUILD, is_sanitized, told  # noqa: E402

WORK = os.path.join(BUILD, "tests", "embed")
RUNTIME = BUILD + "-runtime"  # as near to the sources as the build: ccache has all of it
EMBED = os.path.join(ROOT, "docs", "examples", "embed")
DIGITS = os.path.join(ROOT, "docs", "examples", "digits")
COMPILERS = ["-DCMAKE_C_COMPILER=clang-22", "-DCMAKE_CXX_COMPILER=clang++-22", "-G", "Ninja"]


def run(*command, **environment):
    done = subprocess.run(command, cwd=WORK, capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


@unittest.skipIf(is_sanitized(), "it builds a runtime of its own, without sanitizers")
class Embed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.makedirs(WORK, exist_ok=True)
        for old in ("parts", "first", "moved", "loop", "example", "static", "training"):
            shutil.rmtree(os.path.join(WORK, old), ignore_errors=True)
        run("cmake", "-S", ROOT, "-B", RUNTIME, *COMPILERS, "-DGRADUS_COMPILER=OFF", "-DGRADUS_TESTS=OFF",
            "-DGRADUS_WERROR=" + told("GRADUS_WERROR"),
            "-DGRADUS_DEPS=" + (os.environ.get("GRADUS_DEPS") or os.path.expanduser("~/.cache/gradus")))
        run("cmake", "--build", RUNTIME, "--target", "gradus_shared")
        for component in ("runtime", "development"):
            run("cmake", "--install", RUNTIME, "--prefix", "parts", "--component", component)
        run("cmake", "--build", RUNTIME)
        run("cmake", "--install", RUNTIME, "--prefix", "first")
        os.rename(os.path.join(WORK, "first"), os.path.join(WORK, "moved"))
        cls.tree = os.path.join(WORK, "moved")
        for component in ("static", "development", "training"):
            run("cmake", "--install", RUNTIME, "--prefix", "loop", "--component", component)

    def train(self, program, **environment):
        artifact, checkpoint = os.path.join(WORK, "lenet.gradus"), os.path.join(WORK, "lenet.safetensors")
        run(os.path.join(BUILD, "bin", "gradus"), "compile", os.path.join(DIGITS, "lenet.onnx"), "--recipe",
            os.path.join(DIGITS, "recipe.json"), "-o", artifact)
        printed = run(program, artifact, os.path.join(DIGITS, "train.safetensors"), "200", checkpoint, **environment)
        losses = [float(line.split()[-1]) for line in printed.splitlines()]
        self.assertLess(losses[-1], 0.7 * losses[0])
        # The moved tool reads what the program wrote.
        evaluated = run(os.path.join(self.tree, "bin", "gradus"), "evaluate", artifact, "--checkpoint", checkpoint,
                        "--data", os.path.join(DIGITS, "test.safetensors"))
        self.assertIn("accuracy", evaluated)

    def test_find_package_gives_a_program_that_trains(self):
        run("cmake", "-S", EMBED, "-B", "example", *COMPILERS, f"-DCMAKE_PREFIX_PATH={self.tree}")
        run("cmake", "--build", "example")
        self.train(os.path.join(WORK, "example", "embed"))

    def test_two_components_are_all_that_it_needs(self):
        parts = os.path.join(WORK, "parts")
        installed = {os.path.relpath(os.path.join(folder, name), parts) for folder, _, names in os.walk(parts) for name in names}
        self.assertLessEqual({"lib/libgradus.so", "include/gradus/gradus.h", "lib/pkgconfig/gradus.pc",
                              "lib/cmake/Gradus/GradusConfig.cmake", "share/doc/gradus/LICENSE"}, installed)
        self.assertEqual([name for name in installed if name.startswith("bin") or name.endswith(".a") or "cuda" in name], [])
        run("cmake", "-S", EMBED, "-B", "example", "--fresh", *COMPILERS, f"-DCMAKE_PREFIX_PATH={parts}")
        run("cmake", "--build", "example")
        self.train(os.path.join(WORK, "example", "embed"))

    def test_the_static_library_brings_what_it_needs(self):
        os.makedirs(os.path.join(WORK, "static"))
        with open(os.path.join(WORK, "static", "CMakeLists.txt"), "w") as file:
            file.write("cmake_minimum_required(VERSION 3.25)\nproject(static LANGUAGES C CXX)\nfind_package(Gradus REQUIRED)\n"
                       f"add_executable(embed {EMBED}/train.c)\ntarget_link_libraries(embed Gradus::gradus_static)\n")
        run("cmake", "-S", "static", "-B", "static/build", *COMPILERS, f"-DCMAKE_PREFIX_PATH={self.tree}")
        run("cmake", "--build", "static/build")
        program = os.path.join(WORK, "static", "build", "embed")
        self.assertNotIn("libgradus", run("readelf", "--dynamic", program))
        self.train(program)

    def test_find_package_gives_the_loop_of_training(self):
        example = os.path.join(ROOT, "docs", "examples", "training_library")
        tree = os.path.join(WORK, "loop")
        self.assertEqual([name for name in os.listdir(os.path.join(tree, "lib")) if name.startswith("libdnnl")], [])
        run("cmake", "-S", example, "-B", "training", *COMPILERS, f"-DCMAKE_PREFIX_PATH={tree}")
        run("cmake", "--build", "training")
        artifact, folder = os.path.join(WORK, "digits.gradus"), os.path.join(WORK, "run")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        run(os.path.join(BUILD, "bin", "gradus"), "compile", os.path.join(DIGITS, "lenet.onnx"), "--recipe",
            os.path.join(DIGITS, "recipe.json"), "-o", artifact)
        printed = run(os.path.join(WORK, "training", "train_digits"), artifact, os.path.join(DIGITS, "train.safetensors"),
                      os.path.join(DIGITS, "test.safetensors"), "3", folder)
        self.assertIn("epoch 3: loss", printed)
        self.assertTrue(os.path.exists(os.path.join(folder, "digits.safetensors")))

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not installed")
    def test_pkg_config_gives_a_static_program_that_trains(self):
        flags = run("pkg-config", "--cflags", "--libs", "--static", "gradus",
                    PKG_CONFIG_PATH=os.path.join(self.tree, "lib", "pkgconfig")).split()
        run("clang-22", "-static", os.path.join(EMBED, "train.c"), "-o", "static_train", *flags)
        self.assertNotIn("NEEDED", run("readelf", "--dynamic", "static_train"))
        self.train(os.path.join(WORK, "static_train"))

    def test_an_artifact_of_another_shape_is_refused_in_words(self):
        run("cmake", "-S", EMBED, "-B", "example", *COMPILERS, f"-DCMAKE_PREFIX_PATH={self.tree}")
        run("cmake", "--build", "example")
        artifact = os.path.join(WORK, "other.gradus")
        run(os.path.join(BUILD, "bin", "gradus"), "compile", os.path.join(DIGITS, "lenet.onnx"), "--recipe",
            os.path.join(DIGITS, "recipe.json"), "--set", "metrics=[]", "-o", artifact)
        done = subprocess.run([os.path.join(WORK, "example", "embed"), artifact, os.path.join(DIGITS, "train.safetensors"),
                               "1", os.path.join(WORK, "none")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("expected a graph train of image and label that gives loss and accuracy", done.stderr)

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not installed")
    def test_pkg_config_gives_a_program_that_trains(self):
        flags = run("pkg-config", "--cflags", "--libs", "gradus",
                    PKG_CONFIG_PATH=os.path.join(self.tree, "lib", "pkgconfig")).split()
        run("clang-22", os.path.join(EMBED, "train.c"), "-o", "train", *flags)
        self.train(os.path.join(WORK, "train"), LD_LIBRARY_PATH=os.path.join(self.tree, "lib"))

    def test_the_tree_holds_the_licences(self):
        licences = os.path.join(self.tree, "share", "doc", "gradus")
        for name in ("LICENSE", "third_party.md", "onednn/THIRD-PARTY-PROGRAMS"):
            self.assertTrue(os.path.exists(os.path.join(licences, name)), name)


if __name__ == "__main__":
    unittest.main()
