#!/usr/bin/env python3
"""Counts the comments of the sources that open with a clause or phrase whose subject a reader must look for in the
name below, as "Of a graph with so many commands." above `Timeline(size_t commands)` would.

    tests/comments.py [--list] [FOLDER...]

A comment is a run of lines that begin with //; lines between sections (//===--) are none. Comments behind code are not
counted, since their subject stands in the same line."""

import collections
import re
import sys

from folders import AREAS
from structure_test import read, sources

# Openers that stand for a noun and have none: relative and interrogative clauses, "of", bare demonstratives. A sentence
# may begin so ("What is left is zero."), but is as easily turned round ("The rest is zero."), so all of them count.
NOUNLESS = {"What", "Whatever", "Which", "Whichever", "Who", "Whom", "Whose", "How", "Why", "Of", "That", "Those"}

# Openers of an adverbial clause or phrase. In a sentence the main clause follows behind a comma or a colon ("Where x is
# 0, the gradient is 0."); without one it is a fragment ("Where the data begin.").
ADVERBIAL = {"Where", "When", "While", "If", "As", "Since", "Because", "So", "Until", "Unless", "Than", "For", "By", "With",
             "Without", "In", "From", "On", "At", "To", "Into", "Under", "Over", "Between", "Along", "Before", "After",
             "Behind", "Beside", "Beyond", "Inside", "Within", "Through"}

# "Whether" tells what a truth value means, so it is good above a declaration that has one.
TRUTH_VALUE = re.compile(r"\bbool\b|\bBoolAttr\b|\bUnitAttr\b|\bis[A-Z]\w*\(")


def comments(text):
    """(line, words, declaration) of each comment of a source."""
    lines = text.split("\n") + [""]
    found = []
    for number, line in enumerate(lines):
        comment = re.match(r"\s*//[/!]?\s?(.*)", line)
        if comment and not comment[1].startswith("===--"):
            found.append(comment[1])
        elif found:
            yield number - len(found) + 1, " ".join(found).strip(), declaration(lines[number : number + 6])
            found = []


def declaration(lines):
    """The code that these lines declare first, or nothing above an empty line."""
    text = ""
    for line in lines:
        text += line.strip() + " "
        if not line.strip() or line.rstrip().endswith((";", "{", "}")):
            break
    return text


def is_fragment(words, below):
    """Whether a comment above this code opens with a fragment."""
    opener = re.match(r"\w+", words)
    sentence = re.split(r"(?<=[.?!;])\s", words)[0]
    if not opener or sentence.endswith("?"):
        return False
    if opener[0] == "Whether":
        return not TRUTH_VALUE.search(below)
    return opener[0] in NOUNLESS or (opener[0] in ADVERBIAL and not re.search(r"[,:]\s", sentence))


def fragments():
    """({path: number of comments}, [(path, line, words)]), the latter for those that open with a fragment."""
    counts, found = collections.Counter(), []
    for path in sources(".cpp", ".h", ".c", ".td", ".def"):
        for line, words, below in comments(read(path)):
            counts[path] += 1
            if is_fragment(words, below):
                found.append((path, line, words))
    return counts, found


def is_inside(path, folder):
    return path.startswith(folder.rstrip("/") + "/")


def main(arguments):
    counts, found = fragments()
    folders = [each for each in arguments if not each.startswith("--")] or list(AREAS)
    for path, line, words in found if "--list" in arguments else []:
        if any(is_inside(path, folder) for folder in folders):
            print(f"{path}:{line}: {words}")
    for folder in folders:
        total = sum(count for path, count in counts.items() if is_inside(path, folder))
        open_so = sum(is_inside(path, folder) for path, _, _ in found)
        print(f"{folder:22} {total:5} comments, {open_so:4} open with a fragment ({100 * open_so / max(total, 1):.1f} %)")


if __name__ == "__main__":
    main(sys.argv[1:])
