"""Fuzzes the targets of this folder: `./dev fuzz` builds them and calls this.

libFuzzer changes what it has seen for a share of the minutes each. New inputs that reach new code are kept in the build
folder, and so is what fails: a crash, a report of a sanitizer, a refusal without words, a minute without an answer,
gigabytes. Prints a table; exit code 1 where something failed.
"""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys

from artifact_seeds import compile_seeds

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(ROOT, "build-fuzz"))
TARGETS = sorted(os.path.basename(path)[: -len("_target.cpp")] for path in glob.glob(os.path.join(HERE, "*_target.cpp")))
LARGEST = 20 << 10  # bytes of a model of the tests that is taken as a seed
LIMITS = ["-timeout=60", "-rss_limit_mb=4096"]  # seconds and memory for one input
LONGEST_INPUT = {"artifact": 1 << 17, "data": 1 << 14, "model": 1 << 16, "program": 1 << 17,
                 "recipe": 1 << 13}


def seeds_of_models(folder):
    for path in glob.glob(os.path.join(ROOT, "tests", "data", "**", "*.onnx"), recursive=True):
        if os.path.getsize(path) < LARGEST:
            shutil.copy(path, os.path.join(folder, os.path.relpath(path, ROOT).replace("/", "_")))


def seeds_of_recipes(folder):
    for path in glob.glob(os.path.join(ROOT, "docs", "examples", "**", "*.json"), recursive=True):
        if os.path.getsize(path) < LONGEST_INPUT["recipe"]:
            shutil.copy(path, os.path.join(folder, os.path.relpath(path, ROOT).replace("/", "_")))


def seeds_of(target):
    """A folder with what is in the repository or is made of it."""
    folder = os.path.join(BUILD, "seeds", target)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    if target in ("artifact", "program"):
        compile_seeds(folder, os.path.join(ROOT, "build", "bin", "gradus"))
        return folder
    for path in glob.glob(os.path.join(ROOT, "tests", "data", "fuzz", target, "*")):
        shutil.copy(path, folder)
    if target == "model":
        seeds_of_models(folder)
    if target == "recipe":
        seeds_of_recipes(folder)
    return folder


def program(target):
    return os.path.join(BUILD, "tests", "bin", f"fuzz_{target}")


def fuzz(target, seconds):
    """What libFuzzer printed, its exit code, and the failures that it left."""
    corpus, failures = os.path.join(BUILD, "corpus", target), os.path.join(BUILD, "failures", target)
    os.makedirs(corpus, exist_ok=True)
    os.makedirs(failures, exist_ok=True)
    before = set(os.listdir(failures))
    command = [program(target), corpus, seeds_of(target), *LIMITS, f"-max_len={LONGEST_INPUT[target]}",
               f"-max_total_time={seconds:.0f}", "-print_final_stats=1", f"-artifact_prefix={failures}/"]
    print(f"fuzz: {target} for {seconds:.0f} s", file=sys.stderr, flush=True)
    with open(os.path.join(BUILD, f"fuzz_{target}.log"), "w+") as log:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.seek(0)
        return log.read(), done.returncode, sorted(set(os.listdir(failures)) - before)


def figure(pattern, text):
    """The last number that a pattern has."""
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def report(target, seconds):
    """A line of the table, and whether nothing failed."""
    text, code, failures = fuzz(target, seconds)
    words = {"crash": "crash", "oom": "too much memory", "timeout": "no answer", "leak": "leak"}
    kinds = sorted({words.get(name.split("-")[0], "slow") for name in failures if not name.startswith("slow-unit")})
    clean = code == 0 and not kinds
    result = "clean" if clean else ", ".join(kinds) or f"ended with {code}"
    line = (target, figure(r"stat::number_of_executed_units: (\d+)", text),
            figure(r"stat::average_exec_per_sec: +(\d+)", text), figure(r"\bcov: (\d+)", text), result)
    if not clean:
        print(f"\n{target}: {result}; what was printed is in {os.path.relpath(BUILD, ROOT)}/fuzz_{target}.log")
        for name in failures:
            path = os.path.relpath(os.path.join(BUILD, "failures", target, name), ROOT)
            print(f"  repeat it: ./dev fuzz --only {target} --repeat {path}")
    return line, clean


def main():
    parser = argparse.ArgumentParser(prog="./dev fuzz", description="Fuzzes what reads files of others.")
    parser.add_argument("--minutes", type=float, default=4, help="for all targets together (%(default)s)")
    parser.add_argument("--only", choices=TARGETS, metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--repeat", metavar="FILE", help="give the target of --only this file, and nothing else")
    parser.add_argument("--programs", action="store_true", help=argparse.SUPPRESS)  # for ./dev: what to build
    options = parser.parse_args()
    targets = [options.only] if options.only else TARGETS
    if options.programs:
        print(*(f"fuzz_{target}" for target in targets))
        return 0
    if options.repeat:
        if not options.only:
            parser.error("--repeat needs --only TARGET")
        return subprocess.run([program(options.only), *LIMITS, options.repeat]).returncode and 1
    reports = [report(target, options.minutes * 60 / len(targets)) for target in targets]
    print(f"\n{'target':10}{'runs':>10}{'runs/s':>8}{'edges':>8}  result")
    for (target, runs, rate, edges, result), _ in reports:
        print(f"{target:10}{runs:>10}{rate:>8}{edges:>8}  {result}")
    return 0 if all(clean for _, clean in reports) else 1


if __name__ == "__main__":
    sys.exit(main())
