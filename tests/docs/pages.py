"""What tests of the docs share: pages, the excerpts and commands in them, and what commands print."""

import os
import re
import subprocess
import textwrap

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(ROOT, "build"))
DIGITS = os.path.join(ROOT, "docs", "examples", "digits")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def pages():
    """All tracked Markdown files but the generated ones, relative to the root."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, check=True, capture_output=True,
                            text=True).stdout.splitlines()
    return sorted(path for path in listed if not path.startswith("docs/reference/") and os.path.isfile(os.path.join(ROOT, path)))


def excerpts(page):
    """(file, code) of each fenced block that follows a line with a link to a file and a colon."""
    pattern = r"^ *\[`[^`]+`\]\(([^)]+)\):\n\n( *)(`{3,})\w+\n(.*?)^\2\3$"
    for match in re.finditer(pattern, read(page), re.M | re.S):
        path = os.path.normpath(os.path.join(os.path.dirname(page), match[1]))
        yield path, textwrap.dedent(match[4]).strip("\n")


def stands_in(code, text):
    """Whether a text has these lines one after the other, all of them indented by the same width."""
    wanted, lines = code.split("\n"), text.split("\n")

    def stands_at(first):
        indent = " " * (len(lines[first]) - len(lines[first].lstrip()))
        return lines[first : first + len(wanted)] == [indent + line if line else line for line in wanted]

    return any(line.lstrip() == wanted[0] and stands_at(number) for number, line in enumerate(lines))


def check_excerpts(test, page, least):
    """Each excerpt of a page stands in the file that it names."""
    found = list(excerpts(page))
    test.assertGreaterEqual(len(found), least)
    for path, code in found:
        with test.subTest(f"{page}: {path}"):
            test.assertTrue(stands_in(code, read(path)), f"{path} does not have these lines:\n{code}")


def blocks(page, language):
    """The text of each fenced block of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", read(page), re.M | re.S)


def consoles(page):
    """(command, lines shown) of every console block. A command ends in the line that does not end in a backslash."""
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            lines = part.replace("\\\n", "").rstrip("\n").split("\n")
            yield lines[0], lines[1:]


def run(command, folder):
    """Runs a command of a page with the build's tools on the path; what it printed, and its exit code."""
    path = os.path.join(BUILD, "bin") + os.pathsep + os.environ["PATH"]
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": path})
    return done.stdout + done.stderr, done.returncode


def plain(line, any_figures):
    """A line without its spaces and the numbers of its values; with `any_figures`, also without those of times, sizes and
    fractions, which differ between machines. Counts stay."""
    line = re.sub(r"\s+", " ", re.sub(r"%[\w.]+(:\d+)?(#\d+)?", "%", line)).strip()
    if not any_figures:
        return line
    line = re.sub(r"\b\d+(\.\d+)? ([mu]?s/step|[mu]?s\b|[KMG]?i?B\b)", "FIGURE", line)
    return re.sub(r"\b\d+\.\d+", "FRACTION", line)


def check_printed(test, shown, output, any_figures=False):
    """Each line that a page shows was printed; `...` at a line's end stands for the rest of it."""
    printed = [plain(line, any_figures) for line in output.split("\n")]
    for line in shown:
        if line == "...":
            continue
        wanted = plain(line.removesuffix("..."), any_figures)
        cut = line.endswith("...")
        test.assertTrue(any(found.startswith(wanted) if cut else found == wanted for found in printed),
                        f"not printed: {line}\n{output}")


def check_consoles(test, page, folder, any_figures=False):
    """Runs the commands of a page in their order; each succeeds and prints what the page shows."""
    for command, shown in consoles(page):
        with test.subTest(command):
            output, code = run(command, folder)
            test.assertEqual(code, 0, output)
            check_printed(test, shown, output, any_figures)
