"""The house as docs/design.md and docs/style.md describe it: what may include what,
where each source has its test, how long functions are, and that the docs are true."""

import json
import os
import re
import statistics
import subprocess
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(ROOT, "build"))

# Which folders the files of a folder may include from.
MAY_INCLUDE = {
    "ir": {"ir"},
    "recipe": {"ir", "recipe"},
    "passes": {"ir", "recipe", "passes"},
    "codegen": {"ir", "recipe", "passes", "codegen"},
    "frontends": {"ir", "recipe", "passes", "codegen", "frontends"},
    "runtime": {"runtime"},
}
# What crosses from the runtime to the compiler: the artifact's schema, its hash, names and numbers, the
# texts of library calls, how emulated GPU kernels are called, where libraries are looked for, and what oneDNN has.
SHARED_WITH_COMPILER = {
    "runtime/artifact_generated.h",
    "runtime/artifact_hash.h",
    "runtime/emulated/abi.h",
    "runtime/float_conversion.h",
    "runtime/library_ops.def",
    "runtime/library_places.h",
    "runtime/library_text.h",
    "runtime/names.h",
    "runtime/onednn_functions.h",
}
# What every folder may include: names that all agree on, in a header that includes nothing.
SHARED_WITH_ALL = {"runtime/well_known.h"}
LONGEST_MEDIAN, LONGEST_FUNCTION = 12, 80
CODE = (".cpp", ".h", ".c")


def tracked(*endings):
    """The project's files with one of these endings, also those not yet committed."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.splitlines()
    return sorted(path for path in set(listed) if path.endswith(endings) and os.path.isfile(os.path.join(ROOT, path)))


def sources(*endings):
    return [path for path in tracked(*endings) if path.split("/")[0] in MAY_INCLUDE]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def forbidden_include(path, included):
    here, there = path.split("/")[0], included.split("/")[0]
    if there not in MAY_INCLUDE or there in MAY_INCLUDE[here] or included in SHARED_WITH_ALL:
        return False
    if here in ("codegen", "frontends") and included in SHARED_WITH_COMPILER:
        return False
    return not (there == "runtime" and path.startswith(("frontends/check/", "frontends/cli/", "frontends/data/")))


def functions():
    """(lines, file, name) of every function, as universal-ctags sees them."""
    command = ["ctags", "--languages=C,C++", "--map-C++=+.h", "--kinds-C++=f", "--kinds-C=f", "--fields=+ne", "-I",
               "GRADUS_API,LLVM_FALLTHROUGH,LLVM_DUMP_METHOD", "--output-format=json", "-o", "-", *sources(*CODE)]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    tags = [json.loads(line) for line in printed.splitlines()]
    # A lambda counts as lines of the function that it stands in.
    return [(tag["end"] - tag["line"] + 1, tag["path"], tag["name"]) for tag in tags
            if "end" in tag and not tag["name"].startswith("__anon")]


def test_places(path):
    """Where the test of a source may stand."""
    stem = os.path.join("tests", os.path.splitext(path)[0])
    return [stem + ending for ending in ("_test.cpp", ".mlir", ".test", "_test.py", "_test.c")]


def links(text):
    """The relative links of a Markdown file, code left out."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)
    for target in re.findall(r"\]\(<?([^)\s>]+)>?\)", text):
        if not re.match(r"[a-z]+:|#", target):
            yield target.split("#")[0]


class Structure(unittest.TestCase):
    maxDiff = None

    def test_includes_go_one_way(self):
        bad = [f"{path} includes {included}" for path in sources(".cpp", ".h", ".c", ".td")
               for included in re.findall(r'^\s*#?include "([^"]+)"', read(path), re.M)
               if forbidden_include(path, included)]
        self.assertEqual(bad, [])

    def test_what_all_include_includes_nothing(self):
        self.assertEqual([path for path in SHARED_WITH_ALL if "#include" in read(path)], [])

    def test_well_known_names_are_written_once(self):
        names = re.findall(r'\bk\w+\[\] = "([\w/]+)"', read("runtime/well_known.h"))
        self.assertGreater(len(names), 10)
        asked = re.compile(r'\b(?:get|find)(?:Graph|State|Counter)\((?:[^()";]|\([^()]*\))*"(?:' + "|".join(names) + ')"|'
                           r'"(?:' + "|".join(set(names) - {"train", "evaluate", "predict", "step", "label", "loss", "loss_scale"}) + ')"')
        bad = [f"{path}: {found[0]}" for path in sources(".cpp", ".h") if path not in SHARED_WITH_ALL
               for found in asked.finditer(re.sub(r"//.*", "", read(path)))]
        self.assertEqual(bad, [])

    def test_each_source_has_its_test(self):
        bad = [f"{path}: none of {', '.join(test_places(path)[:3])}" for path in sources(".cpp", ".c")
               if not any(os.path.exists(os.path.join(ROOT, place)) for place in test_places(path))]
        self.assertEqual(bad, [])

    def test_no_function_is_longer_than_80_lines(self):
        self.assertEqual([each for each in functions() if each[0] > LONGEST_FUNCTION], [])

    def test_half_of_the_functions_have_at_most_12_lines(self):
        found = functions()
        self.assertTrue(found, "ctags finds no function")
        self.assertLessEqual(statistics.median(lines for lines, _, _ in found), LONGEST_MEDIAN)

    def test_a_file_opens_by_saying_what_it_does(self):
        bad = [path for path in sources(".cpp", ".h", ".c", ".td", ".fbs") if not read(path).startswith(("//", "/*"))]
        bad += [path for path in tracked(".py") if not re.match(r'(#!.*\n)?("""|#)', read(path))]
        self.assertEqual(bad, [])

    def test_json_becomes_text_in_one_place(self):
        bad = [path for path in sources(".cpp", ".h") if path.startswith("frontends/") and
               re.search(r"[.>]dump\(", read(path)) and path != "messages/json_text.h"]
        self.assertEqual(bad, [])

    def test_files_have_snake_case_names(self):
        bad = [path for path in sources(*CODE, ".td") if not re.fullmatch(r"[a-z0-9_]+\.[a-z]+", os.path.basename(path))]
        self.assertEqual(bad, [])


    def test_each_op_is_refused_where_it_is_wrong(self):
        ops = [name for path in tracked(".td") if path.startswith("ir/") for name in re.findall(r'^def \w+Op : \w+<"(\w+)"', read(path), re.M)]
        self.assertGreater(len(ops), 40)
        refused = set()
        for path in tracked("_invalid.mlir"):
            for below in re.findall(r"expected-error @below.*\n(?:\s*//.*\n)*(.*)", read(path)):
                refused.update(re.findall(r"gradus\.(\w+)", below)[:1])
        self.assertEqual([f"gradus.{op}: no *_invalid.mlir has an error of it" for op in ops if op not in refused], [])


class Docs(unittest.TestCase):
    def test_links_lead_somewhere(self):
        bad = [f"{path}: {target}" for path in tracked(".md") for target in links(read(path))
               if target and not os.path.exists(os.path.join(ROOT, os.path.dirname(path), target))]
        self.assertEqual(bad, [])

    def test_no_path_of_somebodys_machine(self):
        personal = re.compile(r"(?<![\w.])/(?:work|root|home)/\w")
        bad = [f"{path}: {line.strip()}" for path in tracked(*CODE, ".td", ".md", ".py", ".txt", ".json", ".mlir", ".test", "dev")
               for line in read(path).splitlines() if personal.search(line)]
        self.assertEqual(bad, [])

    def test_the_reference_is_what_the_sources_say(self):
        command = [os.path.join(ROOT, "docs", "reference", "generate"), "--check"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "GRADUS_BUILD": BUILD})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
