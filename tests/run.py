"""Runs every test and counts them all alike: GoogleTest, lit, unittest.

`./dev test` builds and then calls this. A test's name is its folder and its own
name (`runtime/Arena.ReusesFreedBytes`, `passes/autodiff.mlir`,
`structure/test_links_lead_somewhere`); --only picks by a part of it.
"""

import argparse
import glob
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

TESTS = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(TESTS, "..", "build"))
LIT = "/usr/lib/llvm-22/bin/lit"
TIME_LIMIT = 1800  # seconds for one program; a test that hangs is a failure


class Tally:
    """Counts results and prints what failed, or was skipped and why, as it happens."""

    def __init__(self, only):
        self.only = only
        self.passed, self.skipped, self.failed = 0, 0, []

    def wants(self, name):
        return self.only in name or self.only.replace("-", "_") in name

    def add(self, name, outcome, output=""):
        if outcome == "passed":
            self.passed += 1
        elif outcome == "skipped":
            self.skipped += 1
            print(f"skipped {name}: {reason(output)}", flush=True)
        else:
            self.failed.append(name)
            print(f"FAILED {name}\n{output.rstrip()}\n", flush=True)

    def line(self):
        return f"{self.passed} passed, {len(self.failed)} failed, {self.skipped} skipped"


def reason(output):
    """Why a test was skipped, in one line: the last that it printed."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "it does not say why"


def listed_tests(program):
    """The tests that a GoogleTest program says it has, or None when it cannot say."""
    done = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, timeout=60)
    if done.returncode:
        return None, done.stdout + done.stderr
    names, suite = [], ""
    for line in done.stdout.splitlines():
        line = line.split("#")[0].rstrip()
        if line.startswith("  "):
            names.append(suite + line.strip())
        elif line.endswith("."):
            suite = line
    return names, ""


def run_some(program, names):
    """Runs the named tests in one process: their outcomes and outputs, up to a crash."""
    with tempfile.NamedTemporaryFile("w", suffix=".flags") as flags:
        flags.write("--gtest_filter=" + ":".join(names) + "\n")
        flags.flush()
        command = [program, f"--gtest_flagfile={flags.name}", "--gtest_color=no"]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  errors="replace", stdin=subprocess.DEVNULL, timeout=TIME_LIMIT, cwd=BUILD)
            text, ending = done.stdout, f"the program ended with {done.returncode}"
        except subprocess.TimeoutExpired as late:
            text, ending = (late.stdout or b"").decode(errors="replace"), f"no end after {TIME_LIMIT} s"
    return outcomes(text), text, ending


def outcomes(text):
    """Reads what GoogleTest printed: name -> (outcome, its output)."""
    results, name, lines = {}, None, []
    words = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}
    for line in text.splitlines():
        match = re.match(r"\[ +(RUN|OK|FAILED|SKIPPED) +\] ([^ ,]+)", line)
        if match and match[1] == "RUN":
            name, lines = match[2], []
        elif match and match[2] == name:
            results[name] = (words[match[1]], "\n".join(lines))
            name = None
        else:
            lines.append(line)
    return results


def run_googletest(program, folder, tally):
    names, problem = listed_tests(program)
    if names is None:
        return tally.add(folder, "failed", problem)
    wanted = [name for name in names if tally.wants(f"{folder}/{name}") and "DISABLED_" not in name]
    while wanted:
        results, text, ending = run_some(program, wanted)
        for name in wanted:
            if name in results:
                tally.add(f"{folder}/{name}", *results[name])
        rest = [name for name in wanted if name not in results]
        if rest:  # A crash: the first without a result is the culprit, the others get a new process.
            tally.add(f"{folder}/{rest[0]}", "failed", "\n".join(text.splitlines()[-60:]) + f"\n{ending}")
            rest = rest[1:]
        elif "ended with 0" not in ending and all(result[0] != "failed" for result in results.values()):
            tally.add(f"{folder} (after its last test)", "failed", text[-6000:] + ending)
        wanted = rest


def run_lit(tally):
    results = os.path.join(BUILD, "tests", "lit.json")
    command = [sys.executable, LIT, "-q", "--ignore-fail", "--allow-empty-runs", "-o", results, TESTS]
    if tally.only:
        command.insert(2, "--filter=" + re.escape(tally.only))
    if os.path.exists(results):
        os.remove(results)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL)
    if not os.path.exists(results) and re.search("did not (match|discover) any tests", done.stdout):
        return None
    try:
        with open(results) as file:
            tests = json.load(file)["tests"]
    except (OSError, ValueError):
        return tally.add("lit", "failed", done.stdout)
    words = {"PASS": "passed", "FLAKYPASS": "passed", "XFAIL": "passed", "UNSUPPORTED": "skipped"}
    for test in tests:
        name = test["name"].split(" :: ")[-1]
        if test["code"] in ("EXCLUDED", "SKIPPED") or not tally.wants(name):
            continue
        tally.add(name, words.get(test["code"], "failed"), test["output"])


class Recorder(unittest.TestResult):
    """Passes unittest's results on to the tally."""

    def __init__(self, tally, folder):
        super().__init__()
        self.tally, self.folder = tally, folder

    def name(self, test):
        return f"{self.folder}/{test.id().split('.')[-1]}"

    def addSuccess(self, test):
        self.tally.add(self.name(test), "passed")

    def addSkip(self, test, reason):
        self.tally.add(self.name(test), "skipped", reason)

    def addFailure(self, test, error):
        self.tally.add(self.name(test), "failed", str(error[1]))

    def addError(self, test, error):
        self.tally.add(self.name(test), "failed", self._exc_info_to_string(error, test))


def cases(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from cases(item)
        else:
            yield item


def run_unittest(path, tally):
    folder = os.path.relpath(path, TESTS)[: -len("_test.py")]
    spec = importlib.util.spec_from_file_location(folder.replace("/", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    recorder = Recorder(tally, folder)
    found = cases(unittest.defaultTestLoader.loadTestsFromModule(module))
    unittest.TestSuite(case for case in found if tally.wants(recorder.name(case))).run(recorder)


def timed(what, run):
    start = time.monotonic()
    run()
    print(f"{what}: {time.monotonic() - start:.1f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="PATTERN", help="a part of the names of the tests to run")
    tally = Tally(parser.parse_args().only)
    os.environ["GRADUS_ONLY"] = tally.only  # long tests run only when asked for
    for path in sorted(glob.glob(os.path.join(TESTS, "**", "*_test.py"), recursive=True)):
        run_unittest(path, tally)
    timed("lit", lambda: run_lit(tally))
    for program in sorted(glob.glob(os.path.join(BUILD, "tests", "bin", "*_tests"))):
        folder = os.path.basename(program)[: -len("_tests")]
        timed(folder, lambda: run_googletest(program, folder, tally))
    for name in tally.failed:
        print(f"failed: {name}")
    if not tally.passed and not tally.failed:
        print(f"no test has '{tally.only}' in its name" if tally.only else "there is no test")
    print(tally.line())
    return 0 if tally.passed and not tally.failed else 1


if __name__ == "__main__":
    sys.exit(main())
