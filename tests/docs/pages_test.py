"""The pages are short, their links lead to headings that are there, and what they list of the code is what the code has."""

import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import folders
import structure_test
from pages import pages, read

LONGEST_PAGE, LONGEST_DESIGN = 260, 200
OTHERS = {"onnx.proto", "cuda.h", "Lower.cpp", "utils.h"}  # files that we do not have, named as such
# What the build makes of the artifact's schema.
GENERATED = ["runtime/artifact_generated.h", "runtime/commands.def", "runtime/library_ops.def"]
# Pages that say how the code is: each file of it that they name must be there.
ABOUT_THE_CODE = ("docs/design.md", "docs/style.md", "docs/contracts.md", "docs/internals/")


def anchors(text):
    """The names that a Markdown page's headings have in links."""
    text = re.sub(r"^ *(`{3,}).*?^ *\1", "", text, flags=re.M | re.S)
    found, count = set(), {}
    for heading in re.findall(r"^#+ +(.*)$", text, re.M):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found.add(name if name not in count else f"{name}-{count[name]}")
        count[name] = count.get(name, 0) + 1
    return found


def links_to_headings(page):
    """(file, heading) of the page's links that name a heading."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", read(page), flags=re.S)
    for target, heading in re.findall(r"\]\(<?([^)\s>#]*)#([^)\s>]+)>?\)", text):
        if not re.match(r"[a-z]+:", target):
            yield os.path.normpath(os.path.join(os.path.dirname(page), target)) if target else page, heading


def dashed(name):
    """LessBn -> less-bn"""
    return re.sub(r"(?<!^)([A-Z])", r"-\1", name).lower()


def passes_of_the_pipeline():
    """Stage -> names of our passes, in order, as passes/pipeline.cpp has them."""
    table = read("passes/pipeline.cpp").split("\nstruct PipelineOptions")[0]
    stages = re.split(r'^    \{"(\w+)",$', table, flags=re.M)[1:]
    return {name: [dashed(each) for each in re.findall(r"addPass\(create(\w+)\(", code) if each not in ("CanonicalizerPass", "CSEPass")]
            for name, code in zip(stages[::2], stages[1::2])}


def passes_of_the_design():
    table = read("docs/design.md").split("## 3.")[1].split("## 4.")[0]
    rows = [line.strip("| ").split(" | ", 1) for line in table.split("\n") if line.startswith("| `")]
    return {stage.strip("` "): re.findall(r"`([^`]+)`", cell) for stage, cell in rows}


def named_files(page):
    """What stands between backticks and looks like a file of ours."""
    for code in re.findall(r"`([\w./*{},-]+\.(?:cpp|h|td|def|fbs|proto))`", read(page)):
        if not re.search(r"[*{]", code) and code not in OTHERS:
            yield code


class Pages(unittest.TestCase):
    maxDiff = None

    def test_links_lead_to_headings_that_are_there(self):
        bad = [f"{page}: {path}#{heading}" for page in pages() for path, heading in links_to_headings(page)
               if path.endswith(".md") and heading not in anchors(read(path))]
        self.assertEqual(bad, [])

    def test_no_page_is_long(self):
        lengths = {page: read(page).count("\n") for page in pages() if re.match(r"docs/(?!internals/|examples/)|README", page)}
        self.assertGreater(len(lengths), 15)
        self.assertEqual({page: lines for page, lines in lengths.items() if lines > LONGEST_PAGE}, {})
        self.assertLessEqual(lengths["docs/design.md"], LONGEST_DESIGN)

    def test_the_design_has_the_passes_of_the_pipeline(self):
        self.assertEqual(passes_of_the_design(), passes_of_the_pipeline())

    def test_the_contracts_name_what_the_compiler_includes_of_the_runtime(self):
        section = read("docs/contracts.md").split("## What crosses between compiler and runtime")[1].split("\n## ")[0]
        named = re.findall(r"^\| `([^`]+)` \|", section, re.M)
        self.assertEqual(set(named), folders.SHARED_WITH_COMPILER)

    def test_files_that_pages_about_the_code_name_are_there(self):
        there = structure_test.tracked("") + GENERATED
        names = {os.path.basename(path) for path in there}
        bad = [f"{page}: {name}" for page in pages() if page.startswith(ABOUT_THE_CODE) for name in named_files(page)
               if (name not in there if "/" in name else name not in names)]
        self.assertEqual(bad, [])


if __name__ == "__main__":
    unittest.main()
