"""The test runner itself: what it reads in GoogleTest's output, and how it counts."""

import contextlib
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run.py")
spec = importlib.util.spec_from_file_location("run", path)
run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run)

PRINTED = """[==========] Running 3 tests from 1 test suite.
[ RUN      ] Arena.IsAligned
[       OK ] Arena.IsAligned (1250 ms)
[ RUN      ] Arena.NeedsRoot
why.cpp:3: Skipped
needs root

[  SKIPPED ] Arena.NeedsRoot (0 ms)
[ RUN      ] Arena.Grows
why.cpp:4: Failure
[  FAILED  ] Arena.Grows, where GetParam() = 3 (70 ms)
[ RUN      ] Arena.Crashes
"""


class GoogleTestOutput(unittest.TestCase):
    def test_each_outcome_is_read(self):
        results = run.outcomes(PRINTED)
        self.assertEqual({name: result[0] for name, result in results.items()},
                         {"Arena.IsAligned": "passed", "Arena.NeedsRoot": "skipped", "Arena.Grows": "failed"})

    def test_a_failure_keeps_what_it_printed(self):
        self.assertEqual(run.outcomes(PRINTED)["Arena.Grows"][1], "why.cpp:4: Failure")

    def test_each_time_is_read(self):
        self.assertEqual({name: result[2] for name, result in run.outcomes(PRINTED).items()},
                         {"Arena.IsAligned": 1.25, "Arena.NeedsRoot": 0, "Arena.Grows": 0.07})

    def test_a_skipped_test_says_why(self):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            run.Tally("").add("Arena.NeedsRoot", *run.outcomes(PRINTED)["Arena.NeedsRoot"])
        self.assertEqual(printed.getvalue(), "skipped Arena.NeedsRoot: needs root\n")

    def test_a_crash_has_no_outcome(self):
        self.assertNotIn("Arena.Crashes", run.outcomes(PRINTED))


class LitOutput(unittest.TestCase):
    def test_outcomes_and_times_are_read(self):
        tests = [{"name": "gradus :: passes/slow.mlir", "code": "PASS", "output": "", "elapsed": 2.5},
                 {"name": "gradus :: passes/bad.mlir", "code": "FAIL", "output": "found x", "elapsed": 0.1},
                 {"name": "gradus :: passes/other.mlir", "code": "EXCLUDED", "output": "", "elapsed": None}]
        tally = run.Tally("")
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file, contextlib.redirect_stdout(io.StringIO()):
            json.dump({"tests": tests}, file)
            file.flush()
            run.add_lit_outcomes(file.name, tally)
        self.assertEqual(tally.line(), "1 passed, 1 failed, 0 skipped")
        self.assertEqual(tally.slowest(), ["     2.5 s  passes/slow.mlir", "     0.1 s  passes/bad.mlir"])

    @contextlib.contextmanager
    def few(self, commands):
        """A folder with a test for each command: a.test, b.test, ..."""
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(run, "BUILD", folder):
            os.mkdir(os.path.join(folder, "tests"))
            with open(os.path.join(folder, "lit.cfg.py"), "w") as file:
                file.write("import lit.formats\nconfig.name = 'few'\nconfig.test_format = lit.formats.ShTest()\n"
                           "config.suffixes = ['.test']\nconfig.test_source_root = config.test_exec_root = '%s'\n" % folder)
            for name, command in zip("abcdef", commands):
                with open(os.path.join(folder, name + ".test"), "w") as file:
                    file.write(f"# RUN: {command}\n")
            yield folder

    def test_each_test_is_in_one_part(self):
        tally = run.Tally("")
        with self.few(["true"] * 3) as folder:
            for number in range(1, 5):  # The last has none.
                run.run_lit(tally, number, 4, folder)
        self.assertEqual(sorted(name for _, name in tally.took), ["a.test", "b.test", "c.test"])
        self.assertEqual(tally.line(), "3 passed, 0 failed, 0 skipped")

    def test_those_around_one_that_hangs_are_counted(self):
        tally, printed = run.Tally(""), io.StringIO()
        with self.few(["true", "sleep 1000", "true", "false"]) as folder, contextlib.redirect_stdout(printed):
            run.run_lit(tally, 1, 1, folder, seconds=3)
        self.assertEqual(tally.line(), "2 passed, 2 failed, 0 skipped")
        self.assertIn("FAILED b.test\nno end when this part of lit's tests had run for 3 s", printed.getvalue())


def words(path):
    with open(path) as file:
        return file.read().split()


class Processes(unittest.TestCase):
    def test_what_left_the_group_of_a_process_does_not_delay_its_end(self):
        with tempfile.TemporaryDirectory() as folder:
            waits = "setsid sh -c 'while test -e $PWD; do sleep 0.1; done' &"  # until the folder is gone
            self.assertEqual(run.run_process(["sh", "-c", "echo said; " + waits], folder, {}), ("said\n", "the program ended with 0"))

    def test_one_that_does_not_end_is_ended(self):
        self.assertEqual(run.run_process(["sh", "-c", "echo said; sleep 1000"], None, {}, 1), ("said\n", "no end after 1 s"))

    def test_ctrl_c_ends_all(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "runner.py")
            with open(program, "w") as file:
                file.write(f"""import importlib.util, signal, sys
sys.path.append({os.path.dirname(path)!r})
signal.signal(signal.SIGINT, signal.default_int_handler)  # A background job of a shell ignores it.
spec = importlib.util.spec_from_file_location("run", {path!r})
run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run)
say = lambda: run.run_process(["sh", "-c", "echo $$ >> {folder}/started; exec sleep 1000"], None, {{}})
run.run_all([("long", say)] * 2 * run.CORES)
""")
            started = os.path.join(folder, "started")
            open(started, "w").close()
            runner = subprocess.Popen([sys.executable, program], stderr=subprocess.DEVNULL)
            self.addCleanup(runner.kill)
            while runner.poll() is None and len(words(started)) < run.CORES:
                time.sleep(0.01)
            runner.send_signal(signal.SIGINT)
            self.assertNotEqual(runner.wait(), 0)
            processes = words(started)
        self.assertEqual(len(processes), run.CORES)
        self.assertEqual([each for each in processes if os.path.exists(f"/proc/{each}")], [])


class UnittestFiles(unittest.TestCase):
    def tallied(self, source):
        tally = run.Tally("")
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            path = os.path.join(folder, "small_test.py")
            with open(path, "w") as file:
                file.write("import os, unittest\n" + source)
            run.run_unittests(path, tally)
        return tally

    def counted(self, source):
        return self.tallied(source).line()

    def test_outcomes_come_from_another_process(self):
        self.assertEqual(self.counted("""class Small(unittest.TestCase):
    def test_passes(self): pass
    def test_fails(self): self.fail()
    def test_is_skipped(self): self.skipTest("for a reason")
"""), "1 passed, 1 failed, 1 skipped")

    def test_each_part_that_fails_is_a_failure(self):
        self.assertEqual(self.counted("""class Small(unittest.TestCase):
    def test_parts(self):
        for number in range(3):
            with self.subTest(number):
                self.assertEqual(number, 1)
    def test_parts_that_pass(self):
        with self.subTest("one"): pass
"""), "1 passed, 2 failed, 0 skipped")

    def test_what_a_class_prepares_counts_with_its_first_test(self):
        tally = self.tallied("""import time
class Small(unittest.TestCase):
    @classmethod
    def setUpClass(cls): time.sleep(0.3)
    def test_a(self): pass
    def test_b(self): pass
""")
        self.assertRegex(tally.slowest()[0], r"^ *[\d.]+ s  .*small/test_a$")

    def test_a_file_that_is_no_python_fails(self):
        self.assertEqual(self.counted("class"), "0 passed, 1 failed, 0 skipped")

    def test_a_process_that_dies_is_a_failure(self):
        self.assertEqual(self.counted("""class Small(unittest.TestCase):
    def test_a(self): pass
    def test_b(self): os._exit(3)
"""), "1 passed, 1 failed, 0 skipped")


class Counting(unittest.TestCase):
    def test_the_last_line_counts_every_kind(self):
        tally = run.Tally("")
        tally.add("a", "passed")
        with contextlib.redirect_stdout(io.StringIO()):
            tally.add("b", "skipped", "no such machine")
        self.assertEqual(tally.line(), "1 passed, 0 failed, 1 skipped")

    def test_the_ten_slowest_come_with_their_times(self):
        tally = run.Tally("")
        for number in range(12):
            tally.add(f"test_{number}", "passed", seconds=number)
        tally.add("quick", "passed", seconds=0.01)
        self.assertEqual(tally.slowest()[0], "    11.0 s  test_11")
        self.assertEqual([line.split()[-1] for line in tally.slowest()], [f"test_{number}" for number in range(11, 1, -1)])

    def test_what_takes_no_time_is_none_of_the_slowest(self):
        tally = run.Tally("")
        tally.add("quick", "passed", seconds=0.01)
        self.assertEqual(tally.slowest(), [])

    def test_a_pattern_is_a_part_of_the_name(self):
        self.assertTrue(run.Tally("dead").wants("passes/dead_code.mlir"))
        self.assertTrue(run.Tally("full-size").wants("full_size/test_bert_base"))
        self.assertFalse(run.Tally("dead").wants("passes/autodiff.mlir"))


if __name__ == "__main__":
    unittest.main()
