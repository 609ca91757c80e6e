"""Everything that needs a card, in parts that each end within eight minutes:

  programs  test programs, which compare the vendor's libraries with definitions
  compare   training steps, beside what the processor computes
  time      how long steps take, one by one and 50 in a call, what they and
            their commands reach of the card's speed, how many launches they
            have, what they cost the host
  pytorch   how long PyTorch takes for the same steps on the same card

Prints each figure when it is there, and what was skipped and why; all are in
results.json, traces and logs beside it. A run of some parts keeps the figures
of the others. Needs a driver and the vendor's libraries, which it takes from
Python's packages where they are nowhere else; PyTorch if it is there; no
compiler. The exit status is 0 where nothing failed and something ran on the
device that was asked for.
"""

import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
GRADUS = os.path.join(HERE, "bin", "gradus")
PART_SECONDS = 460  # what a part does not come to in that time is skipped; programs of tests fail
LATE = f"the part's {PART_SECONDS} s were over"
MOST_LETTERS = 400  # of what a failed test says; the rest is in its log
MOST_COMMANDS = 12  # of a step that is measured for its time, those that take longest; equal ones are one
STEPS_IN_A_CALL = 50  # on a card: the first and its inputs, which nothing hides, are 2 % of them
VENDORS_LIBRARIES = {"GRADUS_CUBLASLT_LIBRARY": ["libcublasLt.so.13", "libcublasLt.so.12"],
                     "GRADUS_CUDNN_LIBRARY": ["libcudnn.so.9"]}


def say(text=""):
    print(text, flush=True)


# ===-- what was found --------------------------------------------------------===#


class Results:
    """One entry for each test and figure, written to results.json as they come."""

    def __init__(self, options, card):
        self.path = os.path.join(options.out, "results.json")
        self.device, self.card, self.entries, self.on_device = options.device, card, [], 0
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}  # of this run
        try:
            with open(self.path) as file:
                before = json.load(file)
            if (before["device"], before["card"]) == (self.device, self.card):
                self.entries = [each for each in before["results"] if not self.is_again(each, options)]
        except (OSError, ValueError, KeyError):
            pass  # no run before this one, or not of ours

    @staticmethod
    def is_again(entry, options):
        """Whether this run finds it anew: what --step does not pick stays."""
        picked = entry["kind"] not in ("compare", "time") or options.step in entry["name"]
        return entry["kind"] in options.only and picked

    def add(self, kind, name, outcome, on_device=False, reason="", **facts):
        entry = {"kind": kind, "name": name, "outcome": outcome}
        entry.update(facts)
        if reason:
            entry["reason"] = reason
            say(f"{outcome if outcome == 'skipped' else outcome.upper()} {name}: {reason}")
        self.counts[outcome] += 1
        self.on_device += on_device and outcome == "passed"
        self.entries.append(entry)
        self.write()

    def write(self):
        with open(self.path + ".new", "w") as file:
            json.dump({"card": self.card, "device": self.device, "date": time.strftime("%Y-%m-%d", time.gmtime()),
                       "failed": any(each["outcome"] == "failed" for each in self.entries), "results": self.entries}, file)
        os.replace(self.path + ".new", self.path)

    def found(self, kind, name):
        """What an entry has measured; nothing where there is none."""
        return next((each["result"] for each in self.entries if (each["kind"], each["name"]) == (kind, name) and "result" in each), {})


class Part:
    """A part of the run: its options, its results, and how long it may still take."""

    def __init__(self, kind, options, results, environment, seconds=PART_SECONDS):
        self.kind, self.options, self.results, self.environment = kind, options, results, environment
        self.until = time.monotonic() + seconds

    def left(self):
        return max(0.0, self.until - time.monotonic())

    def log(self, name):
        return os.path.join(self.options.out, f"{name}.log")

    def add(self, name, outcome, **more):
        self.results.add(self.kind, name, outcome, **more)

    def json_of(self, name, *arguments):
        """What the tool prints as JSON, and what is wrong: empty, words, or None where time was over."""
        if not self.left():
            return None, None
        with open(self.log(name), "w") as log:
            try:
                done = subprocess.run([GRADUS, *arguments, "--device", self.options.device, "--json"], stdout=subprocess.PIPE,
                                      stderr=log, env=self.environment, timeout=self.left())
            except subprocess.TimeoutExpired:
                return None, None
            except OSError as error:
                return None, str(error)
        try:
            found = json.loads(done.stdout.decode(errors="replace"))
        except ValueError:
            found = None
        if done.returncode == 0 and found is not None:
            return found, ""
        with open(self.log(name), errors="replace") as log:
            words = [line.strip() for line in log if line.strip()]
        return found, words[-1] if words else f"ended with status {done.returncode}"

    def stream(self, name, command, environment, each_line):
        """Calls a function for each line that a program prints; its status, or None where time was over."""
        with open(self.log(name), "w") as log:
            try:
                process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment)
            except OSError as error:
                each_line(str(error))
                return 127
            late = threading.Event()
            watch = threading.Timer(self.left(), lambda: (late.set(), process.kill()))
            watch.start()
            with process.stdout:
                for line in process.stdout:
                    text = line.decode(errors="replace").rstrip("\n")
                    log.write(text + "\n")
                    each_line(text)
            process.wait()
            watch.cancel()
        return None if late.is_set() else process.returncode


# ===-- test programs ---------------------------------------------------------===#


def visible_card(device, environment):
    """The environment in which `device` is the first card."""
    index = device.partition(":")[2]
    if not index:
        return environment
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    names = visible.split(",") if visible else []
    return dict(environment, CUDA_VISIBLE_DEVICES=names[int(index)] if int(index) < len(names) else index)


def run_programs(part):
    """The tests of cuda_tests; those whose names end in what the device is called run on it."""
    device = part.options.device
    ending = "/EmulatedCard" if device == "emulated" else "/Card"
    running, words = [], []

    def take(line):
        match = re.match(r"\[ +(RUN|OK|FAILED|SKIPPED) +\] ([^ ,]+)", line)
        if match and match[1] == "RUN":
            running[:], words[:] = [match[2]], []
        elif match and match[2] in running:
            outcome = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}[match[1]]
            said = " ".join(words)[:MOST_LETTERS] if outcome == "failed" else (words or ["it does not say why"])[-1]
            part.add(match[2], outcome, on_device=match[2].endswith(ending), reason="" if outcome == "passed" else said)
            running.clear()
        elif line.strip():
            words.append(line.strip())

    environment = dict(visible_card(device, part.environment), TMPDIR=part.options.out)
    before, failed = sum(part.results.counts.values()), part.results.counts["failed"]
    status = part.stream("cuda_tests", [os.path.join(HERE, "bin", "cuda_tests"), "--gtest_color=no"], environment, take)
    if running or status is None or status and part.results.counts["failed"] == failed:
        ended = f"did not end: {LATE}" if status is None else f"ended with status {status}: {' '.join(words[-3:])}"
        part.add(running[0] if running else "cuda_tests", "failed", reason=ended)
    say(f"{sum(part.results.counts.values()) - before} tests")


# ===-- steps -----------------------------------------------------------------===#


def steps(part, *kinds):
    return [path for kind in kinds for path in sorted(glob.glob(os.path.join(HERE, kind, "*.gradus")))
            if part.options.step in name_of(path)]


def name_of(path):
    return os.path.splitext(os.path.basename(path))[0]


def unpack_onednn():
    """The library that the processor's side of a comparison calls is packed small. What is wrong, or nothing."""
    target = os.path.join(HERE, "lib", "libdnnl.so.3")
    if os.path.exists(target) or not os.path.exists(target + ".xz"):
        return ""
    try:
        with open(target + ".new", "wb") as out:
            try:
                import lzma
                with lzma.open(target + ".xz") as file:
                    shutil.copyfileobj(file, out, 1 << 20)
            except ImportError:
                subprocess.run(["xz", "--decompress", "--stdout", target + ".xz"], stdout=out, check=True)
        os.replace(target + ".new", target)
        return ""
    except (OSError, EOFError, subprocess.CalledProcessError) as error:
        return f"oneDNN was not unpacked: {error}"


def compare_steps(part):
    missing = unpack_onednn()
    say(f"{'step':20} {'tensors':>10} {'deviation':>12}")
    for path in steps(part, "cases"):
        name = name_of(path)
        if missing:
            part.add(name, "failed", reason=missing)
            continue
        tolerance = "0.05" if "bf16" in name else "0.01"
        found, wrong = part.json_of(name, "compare", path, "--tolerance", tolerance)
        if found:
            say(f"{name:20} {len(found.get('tensors', [])):10} {short(at(found, 'largest')):>12}")
        if wrong is None:
            part.add(name, "skipped", reason=LATE)
        else:
            part.add(name, "failed" if wrong else "passed", on_device=True, reason=wrong, result=found)


def at(found, *keys):
    """A number somewhere in what a command printed, or None."""
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, (int, float)) else None


def rounded(value, digits, factor=1):
    return "-" if value is None else f"{value * factor:.{digits}f}"


def short(value):
    return "-" if value is None else f"{value:.3g}"


def rate(count, milliseconds):
    """How many of something a second, where both are known."""
    return count * 1000 / milliseconds if count and milliseconds else None


def packed_networks():
    """What a step of the large networks is: how many images or tokens."""
    try:
        with open(os.path.join(HERE, "reference", "steps.json")) as file:
            return json.load(file)
    except OSError:
        return {}


# What the columns have, and what is no figure of its own.
TABLED = {("step", "ms_min"), ("call", "ms_min"), ("host", "us_median"), ("call", "gb_per_s"), ("call", "of_bandwidth")}
UNTABLED = {"calls", "steps", "threads", "ms_median", "us_min", "gb_per_s", "of_bandwidth"}


def other_figures(found):
    """Numbers that the tool prints and no column has."""
    texts = []
    for key, value in found.items():
        inner = value if isinstance(value, dict) else {None: value}
        for name, number in inner.items():
            path = (key,) if name is None else (key, name)
            is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
            if is_number and path not in TABLED and path[-1] not in UNTABLED and key not in ("bandwidth", "peak"):
                texts.append(f"{' '.join(path)} {number:.6g}")
    return ", ".join(texts)


def print_times(name, found, network):
    per_second = rate(network.get("count"), at(found, "call", "ms_min"))
    row = [rounded(at(found, "step", "ms_min"), 3), rounded(at(found, "call", "ms_min"), 3), rounded(at(found, "host", "us_median"), 1),
           rounded(at(found, "call", "gb_per_s"), 1), rounded(at(found, "call", "of_bandwidth"), 1, 100)]
    more = [f"{per_second:.0f} {network['unit']}/s"] if per_second else []
    say(f"{name:20} " + " ".join(f"{each:>10}" for each in row) + "  " + ", ".join(more + [each for each in [other_figures(found)] if each]))


def equal_commands(commands):
    """Those with the same name and sizes, such as a layer's in each layer, as one: how many, their time, their shares."""
    kinds = {}
    for each in commands:
        kinds.setdefault((each.get("name", ""), each.get("flops"), each.get("bytes")), []).append(each)

    def mean(alike, key, time):
        values = [at(each, key) for each in alike]
        return None if None in values or not time else sum(value * each["us"] for value, each in zip(values, alike)) / time

    for (name, _, _), alike in kinds.items():
        time = sum(each["us"] for each in alike)
        share = sum(at(each, "share") or 0 for each in alike)
        yield {"name": name, "count": len(alike), "us": time, "share": share} | {
            key: mean(alike, key, time) for key in ("of_bandwidth", "of_peak", "gflop_per_s")}


def print_commands(found):
    kinds = sorted(equal_commands([each for each in found.get("commands", []) if at(each, "us")]), key=lambda kind: -kind["us"])
    if kinds:
        say(f"    {'us':>10} {'% of step':>10} {'% of memory':>12} {'% of peak':>10} {'TFLOP/s':>8}   command, all that are equal")
    for each in kinds[:MOST_COMMANDS]:
        say(f"    {rounded(each['us'], 1):>10} {rounded(each['share'], 1, 100):>10} {rounded(each['of_bandwidth'], 1, 100):>12} "
            f"{rounded(each['of_peak'], 1, 100):>10} {rounded(each['gflop_per_s'], 1, 1e-3):>8}   {each['count']} x {each['name']}")


def bench_options(part, path):
    """Weights of the large steps are packed as zeros, on which a card is faster than in training."""
    name = name_of(path)
    options = ["--seconds", str(part.options.seconds), "--trace", os.path.join(part.options.out, f"{name}.trace.json")]
    if is_large(path):
        options.append("--random-states")
    if part.options.device != "emulated":
        options += ["--steps-per-call", str(STEPS_IN_A_CALL)]
    return options


def is_large(path):
    return os.path.basename(os.path.dirname(path)) == "speed"


def print_prediction(path, found):
    """What a step should take, by kind of command, beside what its commands took."""
    import predict  # which lies beside this, as packed
    try:
        commands = predict.commands_of(predict.inspected(path, GRADUS))
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        return say(f"    no prediction: {error}")
    for line in predict.lines_of(predict.predicted(commands, [at(each, "us") for each in found.get("commands", [])])):
        say("    " + line)


def call_forms(part, name, path):
    """How the card's libraries compute the calls of a plan; prints those that they lack in one piece."""
    found, wrong = part.json_of(f"{name}.forms", "inspect", path)
    if wrong:
        say(f"    what the libraries lack is not known: {wrong}")
    forms = (found or {}).get("call_forms", {}).get("calls", [])
    for each in forms:
        if "why" in each:
            say(f"    {each['call']}: {each['form']}, {each['count']} calls ({each['why']})")
    return forms


def time_steps(part):
    networks = packed_networks()
    say(f"{'step':20} " + " ".join(f"{each:>10}" for each in ("min ms", "queued ms", "host us", "GB/s", "% of mem")))
    for path in steps(part, "speed", "cases"):
        name = name_of(path)
        found, wrong = part.json_of(name, "bench", path, *bench_options(part, path))
        if wrong == "":
            print_times(name, found, networks.get(name, {}))
            if is_large(path):
                print_commands(found)
                print_prediction(path, found)
            found["call_forms"] = call_forms(part, name, path)
        if wrong is None:
            part.add(name, "skipped", reason=LATE)
        else:
            part.add(name, "failed" if wrong else "passed", on_device=True, reason=wrong, result=found)


# ===-- beside PyTorch --------------------------------------------------------===#


def run_pytorch(part):
    networks = packed_networks()
    if part.options.device == "emulated":
        part.add("all", "skipped", reason="PyTorch has no emulated card")
        return
    say(f"{'step':20} {'ours ms':>10} {'PyTorch ms':>10} {'ratio':>10}")

    def take(line):
        try:
            found = json.loads(line)
        except ValueError:
            return
        name, how = found.get("name", "all"), found.get("how", "")
        label = f"{name} {how}".strip()
        if "error" in found:
            part.add(label, "skipped", reason=found["error"], result=found)
            return
        ours, theirs = at(part.results.found("time", name), "call", "ms_min"), at(found, "ms")
        network = networks.get(name, {})
        speeds = [rounded(rate(network.get("count"), each), 0) for each in (ours, theirs)]
        say(f"{name:20} {rounded(ours, 3):>10} {rounded(theirs, 3):>10} {rounded(ours / theirs if ours and theirs else None, 2):>10} "
            f"{how}  {' and '.join(speeds)} {network.get('unit', 'steps')}/s")
        part.add(label, "passed", on_device=True, ours_ms=ours, result=found)

    # As it is without our libraries' folders: it has its own.
    status = part.stream("pytorch", [sys.executable, os.path.join(HERE, "reference", "pytorch_reference.py"), "--device",
                                     part.options.device], dict(os.environ), take)
    if status is None:
        part.add("the others", "skipped", reason=LATE)
    elif status:
        part.add("the others", "skipped", reason=f"PyTorch ended with status {status}; see {part.log('pytorch')}")


# ===-- the machine -----------------------------------------------------------===#


def said_by(*command):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode(errors="replace")
    except OSError:
        return ""


def with_libraries():
    """The environment in which libraries are found: what oneDNN needs, as packed; the vendor's as the system has them, or
    those of Python's packages, which PyTorch brings. Their companions are found beside them."""
    environment = dict(os.environ, GRADUS_CUDA_LIBRARY=os.path.join(HERE, "lib", "libgradus_cuda.so"),
                       GRADUS_EMULATED_LIBRARY=os.path.join(HERE, "lib", "libgradus_emulated.so"))
    folders = [each for each in environment.get("LD_LIBRARY_PATH", "").split(":") if each]
    packages = [each for each in sys.path if each.endswith("-packages")]
    known = said_by("ldconfig", "-p")
    for variable, files in VENDORS_LIBRARIES.items():
        if environment.get(variable) or any(f"{file} " in known for file in files):
            continue
        places = [place for file in files for folder in packages
                  for place in sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib", file)))]
        if places:
            environment[variable] = places[0]
            beside = sorted(glob.glob(os.path.join(os.path.dirname(places[0]), "..", "..", "*", "lib")))
            folders += [each for each in map(os.path.normpath, beside) if each not in folders]
    environment["LD_LIBRARY_PATH"] = ":".join([*folders, os.path.join(HERE, "lib")])
    return environment


def name_of_card(device, environment):
    """Name, memory and architecture as our own tool numbers cards, which is not as nvidia-smi does; and the driver's version."""
    try:
        done = subprocess.run([GRADUS, "doctor", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
        name = json.loads(done.stdout.decode(errors="replace")).get(device if ":" in device else f"{device}:0", "")
    except (OSError, ValueError, AttributeError):
        name = ""
    driver = said_by("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").split("\n")[0]
    return ", driver ".join(each for each in (name, driver) if each) if name else ""


PARTS = {"programs": run_programs, "compare": compare_steps, "time": time_steps, "pytorch": run_pytorch}


def parsed():
    parser = argparse.ArgumentParser(prog="run.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", default=os.path.join(HERE, "results"), help="where results.json is written (results)")
    parser.add_argument("--only", action="append", choices=list(PARTS), help="this part; may repeat (all)")
    parser.add_argument("--step", default="", help="compare and time the steps that have this in their names (all)")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, or emulated, to try this without a card (cuda)")
    parser.add_argument("--seconds", type=float, default=6, help="to measure each step for (6)")
    options = parser.parse_args()
    if not re.match(r"cuda(:\d+)?$|emulated$", options.device):
        parser.error(f"--device {options.device}: expected cuda, cuda:NUMBER or emulated")
    options.only = options.only or list(PARTS)
    options.out = os.path.abspath(options.out)
    return options


def main():
    options = parsed()
    os.makedirs(options.out, exist_ok=True)
    environment = with_libraries()
    card = name_of_card(options.device, environment)
    say(f"card: {card or options.device}")
    for variable, what in zip(VENDORS_LIBRARIES, ("cuBLASLt", "cuDNN")):
        say(f"{what}: {environment.get(variable, 'as the system has it')}")
    results = Results(options, card)
    for kind in options.only:
        say(f"\n== {kind}")
        PARTS[kind](Part(kind, options, results, environment))
    results.write()
    counts = results.counts
    say(f"\nresults: {results.path}")
    say(f"{counts['passed']} passed ({results.on_device} of them on {options.device}), {counts['failed']} failed, {counts['skipped']} skipped")
    if counts["failed"]:
        verdict = "FAILED"
    elif not results.on_device:
        verdict = f"FAILED: nothing ran on {options.device}"
    else:
        verdict = "PASSED" if not counts["skipped"] else "PASSED, but for what was skipped"
    say(verdict)
    return not verdict.startswith("PASSED")


if __name__ == "__main__":
    sys.exit(main())
