#!/usr/bin/env python3
"""Which folder of the sources may include which, and the drawing of it in docs/design.md.

    tests/folders.py            prints for each area its folders, the edges between them and their levels
    tests/folders.py --write    draws them anew in docs/design.md

A folder at the top, such as codegen/, is an area. An edge stands for the includes of one folder from another; a level
holds the folders that include only from levels below. TableGen files are not drawn: those of a dialect are one program."""

import collections
import os
import re
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
PAGE = "docs/design.md"
DRAWN = re.compile(r"(<!-- tests/folders.py draws this -->\n```\n).*?(```\n)", re.S)

# Which other areas, or folders of them, an area may include from.
AREAS = {
    "ir": "",
    "recipe": "ir",
    "passes": "ir recipe",
    "codegen": "ir recipe passes",
    "messages": "",
    "frontends": "ir recipe passes codegen messages",
    "runtime": "",
    "training": "runtime messages",
    # Of the compiler the tool sees the plain interface, and headers that need no LLVM.
    "tool": "runtime messages training frontends/compiler recipe codegen/gpu",
}

# Which other folders of its area a folder may include from; those that are not here may from none.
INSIDE = {
    "ir/evaluator": "ir",
    "ir/ops": "ir ir/evaluator",

    "passes/model": "passes",
    "passes/recognition": "passes",
    "passes/optimizers": "passes",
    "passes/gradients": "passes passes/optimizers passes/model",
    "passes/local": "passes passes/optimizers passes/model",
    "passes/distribution": "passes passes/optimizers",
    "passes/methods": "passes passes/distribution passes/optimizers passes/model",
    "passes/update": "passes passes/distribution passes/optimizers passes/local",
    "passes/optimize": "passes",

    "codegen/libraries": "codegen/plan",
    "codegen/nests": "codegen/plan",
    "codegen/kernels": "codegen/plan codegen/nests",
    "codegen/memory": "codegen/plan",
    "codegen/cpu": "codegen/plan codegen/kernels",
    "codegen/gpu": "codegen/plan codegen/cpu",
    "codegen/targets": "codegen/plan codegen/memory codegen/cpu codegen/gpu",
    "codegen/artifact": "codegen/plan codegen/memory codegen/gpu codegen/targets",
    "codegen": "codegen/plan codegen/libraries codegen/memory codegen/targets codegen/artifact",

    "frontends/builder": "frontends/recipe",
    "frontends/onnx/pytorch": "frontends/onnx/file",
    "frontends/onnx/importer": "frontends/onnx/file frontends/onnx/pytorch",
    "frontends/onnx/writer": "frontends/onnx/file frontends/onnx/importer",
    "frontends/onnx/operators": "frontends/onnx/file frontends/onnx/pytorch frontends/onnx/importer frontends/onnx/writer",
    "frontends/onnx": "frontends/onnx/file frontends/onnx/pytorch frontends/onnx/importer frontends/onnx/operators",
    "frontends/onnx/export": "frontends/onnx/file frontends/onnx/pytorch frontends/onnx/importer frontends/onnx/writer frontends/onnx/operators",
    "frontends/compiler": "frontends/recipe frontends/onnx frontends/onnx/export",
    "frontends/opt": "frontends/recipe",

    "runtime/artifact": "runtime",
    "runtime/collectives": "runtime",
    "runtime/collectives/mpi": "runtime runtime/collectives",
    "runtime/device": "runtime runtime/artifact runtime/collectives",
    "runtime/cpu": "runtime runtime/artifact runtime/collectives runtime/device",
    "runtime/commands": "runtime runtime/artifact runtime/collectives runtime/cpu",
    "runtime/cuda/driver": "runtime runtime/artifact",
    "runtime/cuda/libraries": "runtime runtime/artifact runtime/cuda/driver",
    "runtime/cuda": "runtime runtime/artifact runtime/device runtime/cpu runtime/cuda/driver runtime/cuda/libraries",
    "runtime/emulated": "runtime runtime/artifact runtime/device runtime/cuda/driver runtime/cuda/libraries runtime/cuda",
    "runtime/session": "runtime runtime/artifact runtime/collectives runtime/device runtime/cpu",

    "training": "training/data",

    "tool/inspect": "tool",
    "tool/report": "tool",
    "tool/session": "tool",
    "tool/bench": "tool tool/inspect tool/report tool/session",
    "tool/check": "tool tool/session",
    "tool/compare": "tool tool/session",
    "tool/evaluate": "tool tool/session",
    "tool/tune": "tool tool/session",
    "tool/compile": "tool tool/inspect tool/report tool/session tool/tune",
    "tool/export": "tool tool/session tool/evaluate",
    "tool/train": "tool tool/evaluate tool/report tool/session",
    "tool/basis": "tool tool/session tool/train",
    "tool/run": "tool tool/session tool/evaluate tool/train",
}

# What crosses from the runtime to the compiler: the artifact's schema, its hash, names and numbers, the
# texts of library calls, how emulated GPU kernels are called, where libraries are looked for, and what oneDNN has.
SHARED_WITH_COMPILER = {
    "runtime/artifact_generated.h",
    "runtime/artifact_hash.h",
    "runtime/compiler_abi.h",
    "runtime/cuda_folder.h",
    "runtime/emulated/abi.h",
    "runtime/float_conversion.h",
    "runtime/library_ops.def",
    "runtime/library_places.h",
    "runtime/library_text.h",
    "runtime/names.h",
    "runtime/onednn_functions.h",
    "runtime/rates.h",
}
# What every folder may include: names and limits that all agree on, in headers that include nothing.
SHARED_WITH_ALL = {"runtime/logical_ranks.h", "runtime/well_known.h"}


def area(path):
    return path.split("/")[0]


def may_include(path, included):
    """Whether a source may include a file, which is named from the root."""
    here, there = os.path.dirname(path), os.path.dirname(included)
    if area(there) not in AREAS or here == there or included in SHARED_WITH_ALL:
        return True
    if area(here) == area(there):
        return path.endswith(".td") or there in INSIDE.get(here, "").split()
    if area(here) in ("codegen", "messages", "frontends") and included in SHARED_WITH_COMPILER:
        return True
    return any(there == each or there.startswith(each + "/") for each in AREAS[area(here)].split())


def includes():
    """(path, included path) of the sources."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *AREAS], cwd=ROOT, check=True, capture_output=True,
                            text=True).stdout.splitlines()
    for path in sorted(set(listed)):
        full = os.path.join(ROOT, path)
        if path.endswith((".cpp", ".h", ".c", ".def", ".td")) and os.path.isfile(full):
            with open(full, encoding="utf-8") as file:
                for included in re.findall(r'^\s*#?\s*include "([^"]+)"', file.read(), re.M):
                    yield path, included


def edges():
    """{folder: folders that it includes from}, without what all may include."""
    found = collections.defaultdict(set)
    for path, included in includes():
        here, there = os.path.dirname(path), os.path.dirname(included)
        if not path.endswith(".td"):
            found[here] |= {there} - {here} if area(there) in AREAS and included not in SHARED_WITH_ALL | SHARED_WITH_COMPILER else set()
    return dict(found)


def levels(graph):
    """The folders of a graph by level, the lowest first; a folder of a circle has none and is left out."""
    rest, found = {folder: set(below) & set(graph) for folder, below in graph.items()}, []
    while True:
        level = sorted(folder for folder, below in rest.items() if not below)
        if not level:
            return found
        found.append(level)
        rest = {folder: below - set(level) for folder, below in rest.items() if folder not in level}


def inside(graph, name):
    """The part of a graph that stands in one area."""
    return {folder: {each for each in below if area(each) == name} for folder, below in graph.items() if area(folder) == name}


def between(graph):
    """The graph of the areas."""
    found = {name: set() for name in AREAS}
    for folder, below in graph.items():
        found[area(folder)] |= {area(each) for each in below} - {area(folder)}
    return found


def drawing():
    """The text of the drawing: a line of levels for the areas, and one for each area that has folders."""
    graph = edges()
    rows = [("areas", levels(between(graph)))]
    rows += [(name, levels(inside(graph, name))) for name in AREAS if len(inside(graph, name)) > 1]
    lines = []
    for name, ranks in rows:
        short = [", ".join(each if each == name or name == "areas" else each[len(name) + 1:] for each in rank) for rank in ranks]
        lines.append(f"{name:10} " + " <- ".join(short))
    return "\n".join(lines) + "\n"


def drawn():
    """The page with the drawing, as it is and as it should be."""
    with open(os.path.join(ROOT, PAGE), encoding="utf-8") as file:
        page = file.read()
    return page, DRAWN.sub(lambda found: found[1] + drawing() + found[2], page)


def main(arguments):
    if "--write" in arguments:
        page = drawn()[1]
        with open(os.path.join(ROOT, PAGE), "w", encoding="utf-8") as file:
            file.write(page)
        return
    graph = edges()
    for name in AREAS:
        part = inside(graph, name)
        print(f"{name:10} {len(part):3} folders, {sum(map(len, part.values())):3} edges, {len(levels(part)):2} levels")


if __name__ == "__main__":
    main(sys.argv[1:])
