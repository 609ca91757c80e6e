"""The folder for a machine with a card is whole: its run.sh works here on the
emulated one, where there is nothing but it, the system's libraries and Python."""

import argparse
import glob
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import recorded  # noqa: E402
from this_build import BUILD, is_sanitized, told  # noqa: E402

DEPS = os.environ.get("GRADUS_DEPS") or os.path.join(os.path.expanduser("~"), ".cache", "gradus")
PEER = os.path.join(DEPS, "peers", "torch", "bin", "python")
# What every Linux has that runs programs in C++.
OF_THE_SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2", "libstdc++.so.6", "libgcc_s.so.1"}
GLIBC = (2, 36)
# What is tried here, and how far the emulated card may be from the processor; one has calls of libraries on both.
STEPS = {"mlp": 0.01, "mlp-libraries": 0.01, "lenet-bf16": 0.05}
TIMED = ["mlp", "mlp-libraries"]
ENTER = """set -e
root=$1 library=$2 pack=$3; shift 3
mount --rbind /proc "$root/proc"
mount --bind "$library" "$root$library"
mount --bind "$pack" "$root/pack"
exec chroot "$root" "$@"
"""


def said_by(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def libraries(path):
    """The files that a program or a library is loaded with."""
    return {found[0] or found[1] for found in re.findall(r"=> (/\S+)|^\t(/\S+)", said_by("ldd", path), re.M)}


def bare_root(root, pack):
    """Makes a root with Python, what it needs, and libstdc++: a command that runs another there, with the pack as /pack."""
    python, standard = os.path.realpath(sys.executable), sysconfig.get_path("stdlib")
    files = {python} | libraries(python)
    for module in ("_lzma", "zlib"):
        extension = getattr(importlib.import_module(module), "__file__", None)
        files |= libraries(extension) if extension else set()
    systems = libraries(os.path.join(pack, "bin", "cuda_tests"))
    files |= {each for each in systems if os.path.basename(each) in OF_THE_SYSTEM}
    glibc = next(os.path.dirname(each) for each in systems if os.path.basename(each) == "libc.so.6")
    files |= {os.path.join(glibc, each) for each in ("libdl.so.2", "libpthread.so.0")}
    for each in files:
        os.makedirs(os.path.dirname(root + each), exist_ok=True)
        shutil.copy2(each, root + each)
    for folder in ("/dev", "/proc", "/pack", standard):
        os.makedirs(root + folder, exist_ok=True)
    open(os.path.join(root, "dev", "null"), "w").close()
    alone = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    return [*alone, "sh", "-c", ENTER, "enter", root, standard, pack, python]


def elf_files(folder):
    for path in glob.glob(os.path.join(folder, "*", "*")):
        with open(path, "rb") as file:
            if file.read(4) == b"\x7fELF":
                yield path


@unittest.skipIf(is_sanitized(), "the packed programs are not sanitized ones")
@unittest.skipUnless(recorded.has_cuda(), "built without a CUDA toolkit (GRADUS_CUDA=OFF)")
class Packed(unittest.TestCase):
    """One folder for all of these."""

    @classmethod
    def setUpClass(cls):
        packed, cls.moved = (os.path.join(BUILD, "tests", name) for name in ("gpu-tests", "gpu-tests-moved"))
        shutil.rmtree(cls.moved, ignore_errors=True)
        subprocess.run([sys.executable, os.path.join(HERE, "pack.py"), packed, "--only", "mlp", "--only", "lenet-bf16",
                        "--emulated"], check=True, capture_output=True)
        os.rename(packed, cls.moved)

    def test_its_programs_need_the_system_alone(self):
        found = list(elf_files(self.moved))
        packed = {os.path.basename(path) for path in found}
        with_onednn = {"libgomp.so.1"} if told("GRADUS_ONEDNN") == "ON" else set()
        self.assertLessEqual({"gradus", "cuda_tests", "libgradus_cuda.so", "libgradus_emulated.so"} | with_onednn, packed)
        for path in found:
            text = said_by("readelf", "--dynamic", "--version-info", "--wide", path)
            self.assertEqual(set(re.findall(r"\(NEEDED\).*\[(.*)\]", text)) - OF_THE_SYSTEM - packed, set(), path)
            places = [place for each in re.findall(r"\(RU?N?PATH\).*\[(.*)\]", text) for place in each.split(":")]
            self.assertEqual([each for each in places if not each.startswith("$ORIGIN")], [], path)
            versions = {tuple(map(int, each.split("."))) for each in re.findall(r"Name: GLIBC_([\d.]+)", text)}
            self.assertLessEqual(max(versions), GLIBC, path)

    def test_it_runs_where_nothing_else_is(self):
        with open(os.path.join(self.moved, "bin", "cuda_tests"), "rb") as file:
            self.assertNotIn(os.path.join(BUILD, "tests", "bin").encode(), file.read(), "the build folder is not there")
        root = tempfile.mkdtemp(prefix="bare.")
        self.addCleanup(shutil.rmtree, root)
        enter = bare_root(root, self.moved)
        tried = subprocess.run([*enter, "-c", ""], capture_output=True, text=True)
        command = [*enter, "/pack/run.py"] if tried.returncode == 0 else [os.path.join(self.moved, "run.sh")]
        said = ""
        # The time of a larger step is the emulated card's own, and no test.
        for parts in (["--only", "programs", "--only", "compare", "--only", "pytorch"], ["--only", "time", "--step", "mlp"]):
            run = subprocess.run([*command, "--device", "emulated", "--seconds", "0.1", *parts], capture_output=True, text=True,
                                 env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"})
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            said += run.stdout
        self.expect_all_of_it(said)
        if tried.returncode:
            self.skipTest(f"it ran, but in this machine's own root: {tried.stderr.strip()}")

    def expect_all_of_it(self, said):
        with open(os.path.join(self.moved, "results", "results.json")) as file:
            results = json.load(file)
        self.assertFalse(results["failed"])
        found = {(each["kind"], each["name"]): each for each in results["results"]}
        self.assertEqual({key for key in found if key[0] != "programs"},
                         {("compare", name) for name in STEPS} | {("time", name) for name in TIMED} | {("pytorch", "all")})
        for name, tolerance in STEPS.items():
            self.assertEqual(found["compare", name]["outcome"], "passed")
            self.assertLess(found["compare", name]["result"]["largest"], tolerance)
        for name in TIMED:
            self.assertGreater(found["time", name]["result"]["host"]["us_median"], 0)
            self.assertRegex(said, rf"{name} +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +-", "the emulated card has no bandwidth")
        self.assertEqual({each["form"] for each in found["time", "mlp-libraries"]["result"]["call_forms"]}, {"whole"})
        self.assertEqual(found["programs", "On/LibraryCalls.Multiply/EmulatedCard"]["outcome"], "passed")
        self.assertEqual(found["programs", "On/LibraryCalls.Multiply/Card"]["outcome"], "skipped")
        self.assertIn("skipped all: PyTorch has no emulated card", said)
        self.assertRegex(said, r"\d+ passed \(\d+ of them on emulated\), 0 failed, \d+ skipped\nPASSED, but for what was skipped\n")
        self.assertTrue(said.endswith("2 passed (2 of them on emulated), 0 failed, 0 skipped\nPASSED\n"), said)
        self.assertTrue(os.path.getsize(os.path.join(self.moved, "results", "mlp.trace.json")))


@unittest.skipIf(is_sanitized(), "the packed programs are not sanitized ones")
class TestPrograms(unittest.TestCase):
    def test_none_expects_that_there_is_no_card(self):
        programs = os.path.join(BUILD, "tests", "bin")
        run = subprocess.run([os.path.join(programs, "cuda_tests"), "--gtest_filter=CudaPlugIn.*:CudaDriver.*:GpuFacts.*:On/LibraryCalls.*/Card",
                              "--gtest_color=no"], capture_output=True, text=True,
                             env=os.environ | {"LD_PRELOAD": os.path.join(programs, "driver_of_one_card.so")})
        self.assertIn("opening a stub of a card: the GPU is not available", run.stdout)
        self.assertEqual(run.returncode, 0, run.stdout)


@unittest.skipIf(is_sanitized(), "the packed programs are not sanitized ones")
@unittest.skipUnless(recorded.has_cuda(), "built without a CUDA toolkit (GRADUS_CUDA=OFF)")
class Pack(unittest.TestCase):
    def test_what_was_not_packed_is_not_deleted(self):
        folder = os.path.join(BUILD, "tests", "gpu-tests-of-others")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.join(folder, "bin"))
        kept = os.path.join(folder, "bin", "kept")
        open(kept, "w").close()
        for path, words in ((folder, "has files that were not packed"), (kept, "is a file; expected a folder")):
            run = subprocess.run([sys.executable, os.path.join(HERE, "pack.py"), path], capture_output=True, text=True)
            self.assertEqual(run.returncode, 1)
            self.assertIn(f"{path} {words}", run.stderr)
            self.assertTrue(os.path.exists(kept))

    def test_a_name_that_no_step_has_is_a_mistake(self):
        run = subprocess.run([sys.executable, os.path.join(HERE, "pack.py"), "--only", "lenett"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 1)
        self.assertIn("--only lenett: no step has that in its name; there are lenet, lenet-bf16, ", run.stderr)


class Run(unittest.TestCase):
    """run.sh, with programs of a line each in place of the packed ones."""

    def folder_of_stubs(self, name, **programs):
        folder = os.path.join(BUILD, "tests", name)
        shutil.rmtree(folder, ignore_errors=True)
        for each in ("bin", "cases", "lib", "reference"):
            os.makedirs(os.path.join(folder, each))
        for each in ("run.sh", "run.py", "predict.py"):
            shutil.copy(os.path.join(HERE, each), folder)
        for program, text in programs.items():
            path = os.path.join(folder, "bin", program)
            with open(path, "w") as file:
                file.write(f"#!/bin/sh\n{text}\n")
            os.chmod(path, 0o755)
        open(os.path.join(folder, "cases", "x.gradus"), "w").close()
        return folder

    def run_in(self, folder, *options, code=0, **environment):
        run = subprocess.run([os.path.join(folder, "run.sh"), *options], capture_output=True, text=True,
                             env={"PATH": os.environ["PATH"], "GRADUS_PYTHON": sys.executable} | environment)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return run.stdout

    def results_in(self, folder):
        with open(os.path.join(folder, "results", "results.json")) as file:
            return json.load(file)

    def test_libraries_are_found_in_pythons_packages(self):
        folder = self.folder_of_stubs(
            "gpu-tests-libraries", ldconfig="exit 0",
            gradus='echo "$GRADUS_CUBLASLT_LIBRARY $GRADUS_CUDNN_LIBRARY $LD_LIBRARY_PATH" >&2; exit 1')
        packages = os.path.join(folder, "site-packages")
        found = [os.path.join(packages, "nvidia", each) for each in ("cu13/lib/libcublasLt.so.13", "cudnn/lib/libcudnn.so.9")]
        for path in found:
            os.makedirs(os.path.dirname(path))
            open(path, "w").close()
        environment = {"PATH": os.path.join(folder, "bin") + ":" + os.environ["PATH"], "PYTHONPATH": packages}
        folders = ":".join([*map(os.path.dirname, found), os.path.join(folder, "lib")])
        said = self.run_in(folder, "--only", "compare", code=1, **environment)
        self.assertIn(f"FAILED x: {found[0]} {found[1]} {folders}\n", said)
        said = self.run_in(folder, "--only", "compare", code=1, GRADUS_CUDNN_LIBRARY="mine.so", **environment)
        self.assertIn(f"FAILED x: {found[0]} mine.so {folders}\n", said)

    def test_pytorchs_figures_stand_beside_ours(self):
        bench = {"step": {"ms_min": 3.5}, "call": {"ms_min": 3.0, "gb_per_s": 2400.5, "of_bandwidth": 0.5001, "ms_median": 4},
                 "host": {"us_median": 12.34}, "launches": 378, "bandwidth": {"gb_per_s": 4800}, "peak": {"gflop_per_s": 67000}}
        folder = self.folder_of_stubs("gpu-tests-reference", gradus=f"echo '{json.dumps(bench)}'")
        lines = [{"name": "x", "how": "eager", "ms": 2.0}, {"name": "y", "how": "eager", "error": "too large"}]
        with open(os.path.join(folder, "reference", "pytorch_reference.py"), "w") as file:
            file.write("\n".join(f"print({json.dumps(line)!r})" for line in lines))
        with open(os.path.join(folder, "reference", "steps.json"), "w") as file:
            json.dump({"x": {"count": 6, "unit": "tokens"}}, file)
        said = self.run_in(folder, "--only", "time")
        self.assertRegex(said, r"x +3\.500 +3\.000 +12\.3 +2400\.5 +50\.0  2000 tokens/s, launches 378\n")
        said = self.run_in(folder, "--only", "pytorch")
        for words in (r"x +3\.000 +2\.000 +1\.50 eager  2000 and 3000 tokens/s\n", r"skipped y eager: too large\n"):
            self.assertRegex(said, words)
        self.assertEqual([(each["kind"], each["outcome"]) for each in self.results_in(folder)["results"]],
                         [("time", "passed"), ("pytorch", "passed"), ("pytorch", "skipped")])

    def test_a_large_step_has_random_weights_and_its_commands(self):
        command = {"name": "matmul", "us": 20, "share": 0.2, "flops": 8, "bytes": 4, "gflop_per_s": 400000, "of_bandwidth": 0.1, "of_peak": 0.4}
        others = [{**command, "us": 60, "share": 0.6, "gflop_per_s": 600000, "of_bandwidth": 0.3, "of_peak": 0.6},
                  {**command, "flops": 9}, {"name": "add", "us": 10, "share": 0.05}]
        bench = {"call": {"ms_min": 3.0}, "commands": [command, *others]}
        folder = self.folder_of_stubs("gpu-tests-commands", gradus=f"echo \"$@\" >&2; echo '{json.dumps(bench)}'")
        os.rename(os.path.join(folder, "cases"), os.path.join(folder, "speed"))
        said = self.run_in(folder, "--only", "time")
        self.assertRegex(said, r"\n +80\.0 +80\.0 +25\.0 +55\.0 +550\.0 +2 x matmul\n +20\.0 +20\.0 +10\.0 +40\.0 +400\.0 +1 x matmul\n"
                               r" +10\.0 +5\.0 +- +- +- +1 x add\n")
        with open(os.path.join(folder, "results", "x.log")) as log:
            self.assertIn("--random-states --steps-per-call 50 --device cuda --json\n", log.read())

    def test_the_card_that_is_asked_for_is_named(self):
        facts = {"cuda:0": "NVIDIA H100 80GB HBM3, 79.6 GiB, sm_90", "cuda:1": "NVIDIA H200, 139.8 GiB, sm_90"}
        folder = self.folder_of_stubs("gpu-tests-names", gradus=f"echo '{json.dumps(facts)}'", **{"nvidia-smi": "echo 580.1; echo 580.1"})
        path = os.path.join(folder, "bin") + ":" + os.environ["PATH"]
        for device, name in (("cuda", facts["cuda:0"]), ("cuda:1", facts["cuda:1"])):
            said = self.run_in(folder, "--only", "compare", "--device", device, PATH=path)
            self.assertTrue(said.startswith(f"card: {name}, driver 580.1\n"), said)
            self.assertEqual(self.results_in(folder)["card"], f"{name}, driver 580.1")
        self.assertTrue(self.run_in(folder, "--only", "compare", "--device", "cuda:2", PATH=path).startswith("card: cuda:2\n"))

    def test_what_a_library_lacks_is_said(self):
        calls = [{"call": "matmul", "count": 3, "form": "whole"},
                 {"call": "matmul+bias", "count": 2, "form": "plain call and a kernel", "why": "there is none with BIAS"}]
        folder = self.folder_of_stubs("gpu-tests-forms", gradus=f"echo '{json.dumps({'call_forms': {'calls': calls}})}'")
        said = self.run_in(folder, "--only", "time")
        self.assertTrue(said.count("    matmul+bias: plain call and a kernel, 2 calls (there is none with BIAS)\n") == 1, said)
        self.assertNotIn("matmul:", said)
        self.assertEqual(self.results_in(folder)["results"][0]["result"]["call_forms"], calls)

    def test_figures_are_not_needed(self):
        folder = self.folder_of_stubs("gpu-tests-figures", gradus="echo '{}'")
        self.assertRegex(self.run_in(folder, "--only", "time"), r"x +- +- +- +- +-\s")

    def test_a_step_that_differs_fails(self):
        folder = self.folder_of_stubs("gpu-tests-broken", gradus="echo 'too far' >&2; exit 1")
        said = self.run_in(folder, "--only", "compare", code=1)
        self.assertIn("FAILED x: too far\n", said)
        self.assertTrue(said.endswith("FAILED\n"), said)
        self.assertTrue(self.results_in(folder)["failed"])

    def test_what_tests_skip_is_counted_and_is_not_a_pass(self):
        printed = ("[ RUN      ] On/LibraryCalls.Multiply/Card", "file.cpp:1: Skipped", "no driver here",
                   "[  SKIPPED ] On/LibraryCalls.Multiply/Card (0 ms)", "[ RUN      ] Arena.Grows", "[       OK ] Arena.Grows (7 ms)")
        folder = self.folder_of_stubs("gpu-tests-skipped", cuda_tests="printf '%s\\n' " + " ".join(f"'{line}'" for line in printed))
        said = self.run_in(folder, "--only", "programs", code=1)
        self.assertIn("skipped On/LibraryCalls.Multiply/Card: no driver here\n", said)
        self.assertTrue(said.endswith("1 passed (0 of them on cuda), 0 failed, 1 skipped\nFAILED: nothing ran on cuda\n"), said)

    def test_a_program_that_breaks_down_fails(self):
        folder = self.folder_of_stubs("gpu-tests-crash", cuda_tests="echo '[ RUN      ] Arena.Grows'; echo oh; exit 3")
        self.assertIn("FAILED Arena.Grows: ended with status 3: oh\n", self.run_in(folder, "--only", "programs", code=1))
        folder = self.folder_of_stubs("gpu-tests-crash", cuda_tests="exit 127")
        self.assertIn("FAILED cuda_tests: ended with status 127", self.run_in(folder, "--only", "programs", code=1))

    def test_another_card_is_the_first_that_tests_see(self):
        folder = self.folder_of_stubs("gpu-tests-card", cuda_tests='echo "$CUDA_VISIBLE_DEVICES"; exit 3')
        for visible, index in (("", "1"), ("4,7", "7")):
            said = self.run_in(folder, "--only", "programs", "--device", "cuda:1", code=1, CUDA_VISIBLE_DEVICES=visible)
            self.assertIn(f"ended with status 3: {index}\n", said)

    def test_a_part_ends_in_time(self):
        specification = importlib.util.spec_from_file_location("gpu_run", os.path.join(HERE, "run.py"))
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        folder = self.folder_of_stubs("gpu-tests-late", gradus="exec sleep 60", cuda_tests="echo '[ RUN      ] Arena.Grows'; exec sleep 60")
        module.HERE, module.GRADUS = folder, os.path.join(folder, "bin", "gradus")
        options = argparse.Namespace(out=os.path.join(folder, "results"), device="cuda", seconds=1, step="", only=list(module.PARTS))
        os.makedirs(options.out)
        results = module.Results(options, "")
        for kind in ("programs", "compare", "time"):
            module.PARTS[kind](module.Part(kind, options, results, dict(os.environ), seconds=5 if kind == "programs" else 0.3))
        self.assertEqual([(each["kind"], each["name"], each["outcome"]) for each in results.entries],
                         [("programs", "Arena.Grows", "failed"), ("compare", "x", "skipped"), ("time", "x", "skipped")])
        self.assertIn("were over", results.entries[1]["reason"])

    @unittest.skipUnless(os.path.exists(PEER), "there is no PyTorch of the bench's peers")
    def test_pytorch_trains_the_networks(self):
        steps = os.path.join(BUILD, "tests", "pytorch-steps.json")
        adamw = {"type": "adamw", "learning_rate": 0.0001, "betas": [0.9, 0.95], "epsilon": 1e-8, "weight_decay": 0.1}
        with open(steps, "w") as file:
            json.dump({"gpt": {"network": "gpt-d256", "sizes": {"batch": 1, "seq": 8}, "optimizer": adamw},
                       "none": {"network": "none", "sizes": {}, "optimizer": adamw}}, file)
        run = subprocess.run([PEER, os.path.join(HERE, "pytorch_reference.py"), "--device", "cpu", "--steps", steps,
                              "--seconds", "0.1", "--how", "eager"], capture_output=True, text=True, check=True,
                             env={"PATH": os.environ["PATH"], "PYTHONPATH": os.path.join(HERE, "..", "bench")})
        first, second = map(json.loads, run.stdout.splitlines())
        self.assertGreater(first["ms"], 0)
        self.assertEqual(second["error"], "'none'")


if __name__ == "__main__":
    unittest.main()
