"""Runs every test and counts them all alike: GoogleTest, lit, unittest.

`./dev test` builds and then calls this. A test's name is its folder and its own
name (`runtime/Arena.ReusesFreedBytes`, `passes/autodiff.mlir`,
`structure/test_links_lead_somewhere`); --only picks by a part of it.
"""

import argparse
import concurrent.futures
import glob
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from this_build import is_sanitized, sanitizers

TESTS = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(TESTS, "..", "build"))
LIT = "/usr/lib/llvm-22/bin/lit"
TIME_LIMIT = 900  # seconds for one process; a test that hangs is a failure, and leaves time for the others
SLOWEST = 10  # tests that are printed with their times
TESTS_AT_ONCE = 40  # of a GoogleTest program, in one process
PEERS = os.path.join(os.environ.get("GRADUS_DEPS") or os.path.expanduser("~/.cache/gradus"), "peers", "modules")
CORES = len(os.sched_getaffinity(0))
USED = threading.local()  # what used_so_far() tells
RUNNING = set()  # the processes that run_process() has not waited for yet; None once end_running() has ended them
CHANGING = threading.Lock()  # held while RUNNING changes


class Tally:
    """Counts results and prints what failed, or was skipped and why, as it happens."""

    def __init__(self, only):
        self.only = only
        self.passed, self.skipped, self.failed, self.took = 0, 0, [], []
        self.adding = threading.Lock()

    def wants(self, name):
        return self.only in name or self.only.replace("-", "_") in name

    def add(self, name, outcome, output="", seconds=0.0):
        with self.adding:
            self.took.append((seconds, name))
            if outcome == "passed":
                self.passed += 1
            elif outcome == "skipped":
                self.skipped += 1
                print(f"skipped {name}: {reason(output)}", flush=True)
            else:
                self.failed.append(name)
                print(f"FAILED {name}\n{output.rstrip()}\n", flush=True)

    def slowest(self):
        """The tests that took longest, a line each; none in less than 50 ms."""
        return [f"{seconds:8.1f} s  {name}" for seconds, name in sorted(self.took, reverse=True)[:SLOWEST] if seconds >= 0.05]

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
    with tempfile.TemporaryDirectory(prefix="gradus_tests.") as folder:
        flags = os.path.join(folder, "flags")
        with open(flags, "w") as file:
            file.write("--gtest_filter=" + ":".join(names) + "\n")
        command = [program, f"--gtest_flagfile={flags}", "--gtest_color=no"]
        text, ending = run_process(command, BUILD, {"TMPDIR": folder, "TEST_TMPDIR": folder})
    return outcomes(text), text, ending


def run_process(command, folder, environment, seconds=TIME_LIMIT):
    """What a process printed, and how it ended, in words. Where it does not end, it is ended with its group. It prints into a
    file, as what it started and what left its group would keep a pipe open."""
    with tempfile.NamedTemporaryFile("r", errors="replace") as printed, open(printed.name, "a") as output:
        with CHANGING:
            if RUNNING is None:
                raise InterruptedError
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=folder,
                                       env=os.environ | environment, start_new_session=True)
            RUNNING.add(process.pid)
        late, usage = waited(process, seconds)
        if RUNNING is None:
            raise InterruptedError  # What was ended from outside has no outcome.
        USED.seconds = used_so_far() + usage.ru_utime + usage.ru_stime
        text = printed.read()
    return text, f"no end after {seconds} s" if late else f"the program ended with {process.returncode}"


def waited(process, seconds):
    """Waits for a process, and ends its group: whether it was late, and what it used."""
    late = threading.Event()
    timer = threading.Timer(seconds, lambda: (late.set(), os.killpg(process.pid, signal.SIGKILL)))
    try:
        timer.start()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # Its number stays its own until wait4.
    finally:  # Ctrl-C, too
        timer.cancel()
        os.killpg(process.pid, signal.SIGKILL)
    timer.join()
    with CHANGING:
        if RUNNING:
            RUNNING.discard(process.pid)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return late.is_set(), usage


def end_running():
    """Ends the processes that tests run in, which have sessions of their own and so do not hear Ctrl-C. No other starts."""
    global RUNNING
    with CHANGING:
        processes, RUNNING = RUNNING or (), None
        for process in processes:
            os.killpg(process, signal.SIGKILL)


def used_so_far():
    """The processor time of all processes that this thread has waited for, and of those that they waited for."""
    return getattr(USED, "seconds", 0.0)


def outcomes(text):
    """Reads what GoogleTest printed: name -> (outcome, its output, seconds)."""
    results, name, lines = {}, None, []
    words = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}
    for line in text.splitlines():
        match = re.match(r"\[ +(RUN|OK|FAILED|SKIPPED) +\] ([^ ,]+)", line)
        if match and match[1] == "RUN":
            name, lines = match[2], []
        elif match and match[2] == name:
            results[name] = (words[match[1]], "\n".join(lines), milliseconds(line) / 1000)
            name = None
        else:
            lines.append(line)
    return results


def milliseconds(line):
    """The number at the end of "[       OK ] Arena.Grows (7 ms)"."""
    match = re.search(r"\((\d+) ms\)$", line)
    return int(match[1]) if match else 0


def googletests(program, tally):
    """Tasks for all wanted tests of a program: a name, and what adds their outcomes to the tally."""
    folder = os.path.basename(program)[: -len("_tests")]
    names, problem = listed_tests(program)
    if names is None:
        tally.add(folder, "failed", problem)
        return
    wanted = [name for name in names if tally.wants(f"{folder}/{name}") and "DISABLED_" not in name]
    for start in range(0, len(wanted), TESTS_AT_ONCE):
        some = wanted[start : start + TESTS_AT_ONCE]
        yield folder, lambda some=some: run_googletest(program, folder, some, tally)


def run_googletest(program, folder, wanted, tally):
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


def run_lit(tally, number, parts, tests=TESTS, seconds=2 * TIME_LIMIT):
    """Runs one of so many parts of lit's tests, one test after another. Parts are cut by the tests' names alone. A test that
    does not end in time is a failure, and those behind it get a new process."""
    results = os.path.join(BUILD, "tests", f"lit-{number}.json")
    picked = [f"--num-shards={parts}", f"--run-shard={number}", tests]
    while picked:
        command = [sys.executable, LIT, "-q", "-j1", "--order=lexical", "--skip-test-time-recording", f"--max-time={seconds}",
                   "--show-skipped", "--ignore-fail", "--allow-empty-runs", "-o", results, *picked]
        if tally.only:
            command.insert(2, "--filter=" + re.escape(tally.only))
        if os.path.exists(results):
            os.remove(results)
        text, ending = run_process(command, None, {}, seconds + 60)
        if not os.path.exists(results) and re.search("(did not match|did not discover|does not contain) any tests", text):
            return
        try:
            add_lit_outcomes(results, tally)
        except (OSError, ValueError):
            tally.add(f"lit (part {number} of {parts})", "failed", f"{text}{ending}")
            return
        if rest := without_outcome(text):
            tally.add(rest[0], "failed", f"no end when this part of lit's tests had run for {seconds} s")
        picked = [os.path.join(tests, name) for name in rest[1:]]


def add_lit_outcomes(path, tally):
    """Reads the file that lit wrote."""
    with open(path) as file:
        tests = json.load(file)["tests"]
    words = {"PASS": "passed", "FLAKYPASS": "passed", "XFAIL": "passed", "UNSUPPORTED": "skipped"}
    for test in tests:
        name = test["name"].split(" :: ")[-1]
        if test["code"] in ("EXCLUDED", "SKIPPED") or not tally.wants(name):
            continue
        tally.add(name, words.get(test["code"], "failed"), test["output"], test["elapsed"] or 0.0)


def without_outcome(text):
    """The tests that lit did not end, in the order in which it runs them. Its file does not have them."""
    listed = re.search(r"^Skipped Tests \(\d+\):\n((?:  .*\n)+)", text, re.MULTILINE)
    return sorted(line.split(" :: ")[-1] for line in listed[1].splitlines()) if listed else []


class Recorder(unittest.TestResult):
    """Passes unittest's results on to the tally, or to what adds as it does. What a class prepares counts as time of its
    first test."""

    def __init__(self, tally, folder):
        super().__init__()
        self.tally, self.folder, self.since = tally, folder, time.monotonic()

    def name(self, test):
        return f"{self.folder}/{test.id().split('.')[-1]}"

    def add(self, test, outcome, output=""):
        now = time.monotonic()
        self.tally.add(self.name(test), outcome, output, now - self.since)
        self.since = now

    def addSuccess(self, test):
        self.add(test, "passed")

    def addSkip(self, test, reason):
        self.add(test, "skipped", reason)

    def addFailure(self, test, error):
        self.add(test, "failed", str(error[1]))

    def addError(self, test, error):
        self.add(test, "failed", self._exc_info_to_string(error, test))

    def addSubTest(self, test, part, error):
        """Of a test with a part that failed unittest says no more than this."""
        if error:
            self.add(test, "failed", f"{part}: {self._exc_info_to_string(error, test)}")


class Lines(Tally):
    """Writes outcomes to a file, for the process that counts them."""

    def __init__(self, only, path):
        super().__init__(only)
        self.path = path

    def add(self, *outcome):
        with open(self.path, "a") as file:
            file.write(json.dumps(outcome) + "\n")


def cases(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from cases(item)
        else:
            yield item


def folder_of(path):
    return os.path.relpath(path, TESTS)[: -len("_test.py")]


def unittests(path, tally):
    """Runs the wanted tests of one file in this process."""
    folder = folder_of(path)
    spec = importlib.util.spec_from_file_location(folder.replace("/", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    recorder = Recorder(tally, folder)
    found = cases(unittest.defaultTestLoader.loadTestsFromModule(module))
    unittest.TestSuite(case for case in found if tally.wants(recorder.name(case))).run(recorder)


def python_for(path):
    """This one; for tests of the Python package one with numpy, where ./dev has put it; for those of PyTorch's objects the
    one that `./dev test --peers` has installed, if this one has no torch."""
    deps = os.environ.get("GRADUS_DEPS") or os.path.expanduser("~/.cache/gradus")
    if os.path.basename(path).startswith("torch_"):
        there = not importlib.util.find_spec("torch") and os.path.exists(os.path.join(PEERS, "complete"))
        return os.path.join(PEERS, "bin", "python") if there else sys.executable
    python = os.path.join(deps, "python-tests", "bin", "python")
    return python if folder_of(path).startswith("python" + os.sep) and os.path.exists(python) else sys.executable


def environment_for(path):
    """What tests of the Python package need where it has the sanitizers: Python has none, and so must load them before the
    extension. What Python itself leaves at its end is no leak of ours: `python/leaks_test.py` measures memory instead."""
    ours = os.path.dirname(folder_of(path)) == "python" and not os.path.basename(path).startswith(("torch_", "wheel_"))
    if not ours or not is_sanitized() or not sanitizers():
        return {}
    return {"LD_PRELOAD": sanitizers(), "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


def run_unittests(path, tally):
    """The same in a process of their own."""
    with tempfile.TemporaryDirectory(prefix="gradus_tests.") as folder:
        lines = os.path.join(folder, "outcomes")
        command = [python_for(path), os.path.abspath(__file__), "--only", tally.only, "--file", path, "--outcomes", lines]
        seconds = TIME_LIMIT * (4 if os.environ.get("GRADUS_PEERS") else 1)  # for 60 models
        text, ending = run_process(command, os.path.dirname(TESTS), {"TMPDIR": folder, **environment_for(path)}, seconds)
        if os.path.exists(lines):
            with open(lines) as file:
                for line in file:
                    tally.add(*json.loads(line))
    if "ended with 0" not in ending:
        tally.add(f"{folder_of(path)} (its process)", "failed", text[-6000:] + ending)


def run_all(tasks):
    """Runs as many tasks at once as there are cores; prints what those of each name took together, and how much of that
    was the processor's time, which says the same on a busy machine."""
    seconds, used, adding = {}, {}, threading.Lock()

    def timed(name, run):
        start, before = time.monotonic(), used_so_far()
        run()
        with adding:
            seconds[name] = seconds.get(name, 0) + time.monotonic() - start
            used[name] = used.get(name, 0) + used_so_far() - before

    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        try:
            for task in [pool.submit(timed, *task) for task in tasks]:
                while not task.done():  # A wait that has no end can miss Ctrl-C.
                    concurrent.futures.wait([task], timeout=1)
                task.result()
        except BaseException:  # Ctrl-C, or a runner's own error
            pool.shutdown(wait=False, cancel_futures=True)
            end_running()
            raise
    for name in sorted(seconds):
        if seconds[name] >= 1:
            print(f"{name}: {seconds[name]:.1f} s, {used[name]:.1f} s of a processor", flush=True)
    print(f"all: {sum(used.values()):.0f} s of a processor", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="PATTERN", help="a part of the names of the tests to run")
    parser.add_argument("--file", help="run the unittests of this file alone, in this process")
    parser.add_argument("--outcomes", help="write their outcomes to this file")
    options = parser.parse_args()
    os.environ["GRADUS_ONLY"] = options.only  # long tests run only when asked for
    if options.file:
        unittests(options.file, Lines(options.only, options.outcomes))
        return 0
    tally = Tally(options.only)
    # Long tasks come first, so that no core waits for another at the end.
    tasks = [("lit", lambda number=number: run_lit(tally, number, CORES)) for number in range(1, CORES + 1)]
    for program in sorted(glob.glob(os.path.join(BUILD, "tests", "bin", "*_tests"))):
        tasks += googletests(program, tally)
    tasks += [(folder_of(path), lambda path=path: run_unittests(path, tally))
              for path in sorted(glob.glob(os.path.join(TESTS, "**", "*_test.py"), recursive=True))]
    try:
        run_all(tasks)
    except KeyboardInterrupt:
        print(f"ended before all tests had run: {tally.line()}")
        return 130
    for name in tally.failed:
        print(f"failed: {name}")
    if not tally.passed and not tally.failed:
        print(f"no test has '{tally.only}' in its name" if tally.only else "there is no test")
    if slowest := tally.slowest():
        print("slowest:", *slowest, sep="\n")
    print(tally.line())
    return 0 if tally.passed and not tally.failed else 1


if __name__ == "__main__":
    sys.exit(main())
