#!/usr/bin/env python3
"""Finds hand-written lists of ops, which a new op would have to know of.

    tests/op_lists.py [FOLDER...]

prints each list of three ops or more in the compiler's sources: `isa<AOp, BOp, COp>` and other template arguments, such tests
joined by `||`, and lists of names as text. What an op says of itself is a trait or an interface (ir/traits.td), and what is
known of arith and math stands in ir/scalar_ops.def. A list that is a definition, and has no other place, says why:

    // Op list: the ops that graphs keep until they become commands.
"""

import os
import re
import sys

import comments
import structure_test

FOLDERS = ["ir", "passes", "codegen", "frontends", "tool"]
MARK = "Op list:"
FEWEST = 3

OP = r"(?:\w+::)*[A-Z]\w*Op"
ARGUMENTS = re.compile(r"\b(?:isa(?:_and_\w+)?|Case|dyn_cast|insert)<\s*((?:\w+::)*\w+(?:\s*,\s*(?:\w+::)*\w+)*)\s*>")
NAMES = re.compile(r'"(?:gradus|plan|arith|math)\.\w+"')
JOIN = re.compile(r"[^;{}]*?\|\|[^;{}]*?|[^;()]*?[,{]\s*", re.S)  # what may stand between two names of one list
NEAR = 120  # characters between two names of one list


def lists_in(text):
    """(line, ops) of each list in a source."""
    found = []
    spans = [(m.start(), m.end(), re.findall(OP, m.group(1))) for m in ARGUMENTS.finditer(text)]
    spans += [(m.start(), m.end(), [m.group().strip('"')]) for m in NAMES.finditer(text)]
    spans = [span for span in spans if span[2]]
    joined = []
    for start, end, ops in sorted(spans):
        between = text[joined[-1][1]:start] if joined else ";"
        if len(between) < NEAR and JOIN.fullmatch(between):
            joined[-1] = (joined[-1][0], end, joined[-1][2] + ops)
        else:
            joined.append((start, end, ops))
    for start, _, ops in joined:
        if len(ops) >= FEWEST:
            found.append((text.count("\n", 0, start) + 1, ops))
    return found


def is_marked(lines, line):
    """Whether the comment in front of a statement says why there is a list."""
    while line > 1 and not lines[line - 1].lstrip().startswith("//"):
        line -= 1
        if lines[line - 1].rstrip().endswith((";", "}")):
            return False
    while lines[line - 1].lstrip().startswith("//"):
        if MARK in lines[line - 1]:
            return True
        line -= 1
    return False


def found(folders=None):
    """(path, line, ops) of each list that says no reason."""
    for path in structure_test.sources(".cpp", ".h"):
        if not any(comments.is_inside(path, folder) for folder in folders or FOLDERS):
            continue
        text = structure_test.read(path)
        lines = text.split("\n")
        for line, ops in lists_in(text):
            if not is_marked(lines, line):
                yield path, line, ops


if __name__ == "__main__":
    for path, line, ops in found(sys.argv[1:]):
        print(f"{path}:{line}: {', '.join(ops)}")
