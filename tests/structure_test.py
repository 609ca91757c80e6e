"""The house as docs/design.md and docs/style.md describe it: what may include what,
where each source has its test, how long functions are, and that the docs are true."""

import collections
import json
import os
import re
import statistics
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import folders

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(ROOT, "build"))

# Limits, and what is above them today with its number: lower or delete a number as soon as it falls, never add one.
MOST_FILES = 60  # of a folder
MOST_FIELDS = 15  # of a class
MORE_FIELDS = {
    "runtime/cuda/driver/driver_abi.h: CopyParams": 25,
}
MOST_LINES = 600  # of a file
MORE_LINES = {
    "tests/frontends/onnx/import_test.cpp": 632,
}
LONGEST_MEDIAN, LONGEST_FUNCTION = 12, 60
LONGER_FUNCTIONS = {
}
CODE = (".cpp", ".h", ".c")


def tracked(*endings):
    """The project's files with one of these endings, also those not yet committed."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.splitlines()
    return sorted(path for path in set(listed) if path.endswith(endings) and os.path.isfile(os.path.join(ROOT, path)))


def sources(*endings):
    return [path for path in tracked(*endings) if folders.area(path) in folders.AREAS]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def tags(kind):
    """What universal-ctags sees of a kind in the sources: f functions, m members of classes."""
    command = ["ctags", "--languages=C,C++", "--map-C++=+.h", f"--kinds-C++={kind}", f"--kinds-C={kind}", "--fields=+nesa", "-I",
               "GRADUS_API,LLVM_FALLTHROUGH,LLVM_DUMP_METHOD", "--output-format=json", "-o", "-", *sources(*CODE)]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in printed.splitlines()]


def functions():
    """(lines, file, name) of every function."""
    # A lambda counts as lines of the function that it stands in.
    return [(tag["end"] - tag["line"] + 1, tag["path"], tag["name"]) for tag in tags("f")
            if "end" in tag and not tag["name"].startswith("__anon")]


def fields():
    """{"file: class": number of fields}, without fields of nested classes."""
    return collections.Counter(f"{tag['path']}: {re.sub(r'.*::', '', tag['scope'])}" for tag in tags("m")
                               if tag.get("scopeKind") in ("class", "struct"))


def files_of_folders():
    """{folder: number of files}; what tests read is not counted."""
    return collections.Counter(os.path.dirname(path) for path in tracked("") if not path.startswith("tests/data/"))


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

    def test_a_folder_includes_what_it_may(self):
        self.assertEqual([f"{path} includes {included}" for path, included in folders.includes()
                          if not folders.may_include(path, included)], [])

    def test_no_folder_includes_itself_through_others(self):
        graph = folders.edges()
        self.assertGreater(len(graph), 30)
        self.assertEqual(set(graph) - {folder for level in folders.levels(graph) for folder in level}, set())

    def test_what_a_folder_may_include_is_there(self):
        named = {*folders.INSIDE, *(each for some in folders.INSIDE.values() for each in some.split())}
        self.assertEqual([folder for folder in sorted(named) if not os.path.isdir(os.path.join(ROOT, folder))], [])

    def test_the_drawing_is_what_the_sources_include(self):
        page, wanted = folders.drawn()
        self.assertIn(folders.drawing(), wanted)
        self.assertEqual(page, wanted, "run tests/folders.py --write")

    def test_what_all_include_includes_nothing(self):
        self.assertEqual([path for path in folders.SHARED_WITH_ALL if "#include" in read(path)], [])

    def test_well_known_names_are_written_once(self):
        names = re.findall(r'\bk\w+\[\] = "([\w/]+)"', read("runtime/well_known.h"))
        self.assertGreater(len(names), 10)
        asked = re.compile(r'\b(?:get|find)(?:Graph|State|Counter)\((?:[^()";]|\([^()]*\))*"(?:' + "|".join(names) + ')"|'
                           r'"(?:' + "|".join(set(names) - {"train", "evaluate", "predict", "step", "label", "loss", "loss_scale"}) + ')"')
        bad = [f"{path}: {found[0]}" for path in sources(".cpp", ".h") if path not in folders.SHARED_WITH_ALL
               for found in asked.finditer(re.sub(r"//.*", "", read(path)))]
        self.assertEqual(bad, [])

    def test_each_source_has_its_test(self):
        bad = [f"{path}: none of {', '.join(test_places(path)[:3])}" for path in sources(".cpp", ".c")
               if not any(os.path.exists(os.path.join(ROOT, place)) for place in test_places(path))]
        self.assertEqual(bad, [])

    def above(self, found, most, more):
        """Checks numbers against a limit and today's exceptions, which may only fall."""
        self.assertEqual({name: number for name, number in found.items() if number > more.get(name, most)}, {})
        self.assertEqual({name: number for name, number in more.items() if found.get(name, 0) < number}, {}, "has fallen: lower or delete it")

    def test_no_function_is_longer_than_60_lines(self):
        self.above({f"{path}: {name}": lines for lines, path, name in sorted(functions())}, LONGEST_FUNCTION, LONGER_FUNCTIONS)

    def test_no_class_has_more_than_15_fields(self):
        found = fields()
        self.assertGreater(len(found), 500)
        self.above(found, MOST_FIELDS, MORE_FIELDS)

    def test_names_tell_private_members_and_constants(self):
        is_constant = re.compile("k[A-Z]").match
        found = [tag for tag in tags("m") if tag.get("scopeKind") == "class"]
        self.assertGreater(len(found), 700)
        bad = [f"{tag['path']}: {tag['name']}" for tag in found if (tag.get("access") == "private") != tag["name"].endswith("_")
               and not is_constant(tag["name"])]
        named = re.compile(r"^(?:static |inline )*constexpr [^;(]*?[ *&](\w+)(?:\[[^]]*\])? ?=", re.M)
        bad += [f"{path}: {name}" for path in sources(".cpp", ".h") for name in named.findall(read(path)) if not is_constant(name)]
        self.assertEqual(bad, [])

    def test_no_folder_holds_more_than_60_files(self):
        self.above(files_of_folders(), MOST_FILES, {})

    def test_no_file_is_longer_than_600_lines(self):
        self.above({path: read(path).count("\n") for path in tracked(*CODE, ".td", ".py")}, MOST_LINES, MORE_LINES)

    def test_half_of_the_functions_have_at_most_12_lines(self):
        found = functions()
        self.assertTrue(found, "ctags finds no function")
        self.assertLessEqual(statistics.median(lines for lines, _, _ in found), LONGEST_MEDIAN)

    def test_a_file_opens_by_saying_what_it_does(self):
        bad = [path for path in sources(".cpp", ".h", ".c", ".td", ".fbs") if not read(path).startswith(("//", "/*"))]
        bad += [path for path in tracked(".py") if not re.match(r'(#!.*\n)?("""|#)', read(path))]
        self.assertEqual(bad, [])

    def test_passes_read_the_recipe_as_settings(self):
        # These ask whether it has a key, or write one; values come with their defaults from recipe/settings.h.
        may = {"passes/model/check_combinations.cpp", "passes/model/read_losses.cpp", "passes/optimizers/run_length.cpp"}
        found = {path for path in sources(".cpp", ".h") if re.match("passes/|codegen/", path) and "getRecipeAttr" in read(path)}
        self.assertEqual(found, may)

    def test_json_becomes_text_in_one_place(self):
        bad = [path for path in sources(".cpp", ".h") if re.match("frontends/|messages/|tool/|training/", path) and
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
