"""docs/reliability.md names tests that are there, and the targets and trials that are there."""

import glob
import os
import re
import sys
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
TESTS = os.path.join(ROOT, "tests")
sys.path.insert(0, os.path.join(TESTS, "torture"))


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def files(ending):
    return glob.glob(os.path.join(TESTS, "**", f"*{ending}"), recursive=True)


def names_of_tests():
    """As tests/run.py calls them; of GoogleTest's without the program."""
    for path in files("_test.cpp"):
        for suite, name in re.findall(r"\bTEST(?:_[PF])?\((\w+),\s*(\w+)\)", read(path)):
            yield f"{suite}.{name}"
    for path in files(".test"):
        yield os.path.relpath(path, TESTS)
    for path in files("_test.py"):
        for name in re.findall(r"def (test_\w+)", read(path)):
            yield f"{os.path.relpath(path, TESTS)[:-len('_test.py')]}/{name}"


def rows_below(page, heading):
    """The cells of the first table below a line that begins so."""
    below = page[re.search(rf"^{re.escape(heading)}.*$", page, re.M).end():]
    table = re.search(r"^\|.*\n\|[-|]+\n((?:\|.*\n)+)", below, re.M)[1]
    return [[cell.strip() for cell in re.split(r" \| ", line.strip("| "))] for line in table.splitlines()]


class Reliability(unittest.TestCase):
    def setUp(self):
        self.page = read(ROOT, "docs", "reliability.md")

    def test_each_promise_has_tests_that_are_there(self):
        there = list(names_of_tests())
        rows = rows_below(self.page, "## Promises")
        self.assertGreater(len(rows), 10)
        for row in rows:
            named = re.findall(r"`([^`]+)`", row[-1])
            self.assertTrue(named, row[0])
            for name in named:
                self.assertTrue(any(name in each for each in there), f"no test has '{name}' in its name: {row[0]}")

    def test_the_targets_are_those_that_are_there(self):
        there = {os.path.basename(path)[: -len("_target.cpp")] for path in files("_target.cpp")}
        self.assertEqual({row[0].strip("`") for row in rows_below(self.page, "`./dev fuzz` builds")}, there)

    def test_the_trials_are_those_that_are_there(self):
        from torture import TRIALS
        self.assertEqual([row[0].strip("`") for row in rows_below(self.page, "`./dev torture` trains")], list(TRIALS))


if __name__ == "__main__":
    unittest.main()
