"""Predicts how long a step takes on an H100 or H200, from what `gradus inspect --json`
says of its commands: bytes, FLOPs, calls, scratch, and what kernels execute.

  predict.py STEP.gradus --gradus TOOL     an artifact with code for sm_90
  predict.py STEP.json                     what `inspect --json` printed of it

The rates below are fixed, so that a prediction changes with a plan alone. They
are known of such GPUs, and not measured by Gradus. On a GPU, run.py prints what
a step took beside this.
"""

import argparse
import json
import re
import subprocess
import sys
from collections import namedtuple

# Kernels that do little else but move bytes reach this, of an H200's 4.8 TB/s.
BYTES_PER_S = 3.6e12
# cuBLASLt's dense matmuls of 16 bits reach this with random numbers; 989 by the data sheet.
NARROW_FLOP_PER_S = 575e12
# The data sheet's rate of f32 without TF32.
F32_FLOP_PER_S = 67e12
# Convolutions of 16 bits by engines without tensor cores: 10 to 25 for three channels.
NO_TENSOR_CORES_FLOP_PER_S = 13e12
# From one node of a CUDA graph to the next.
NODE_SECONDS = 1.2e-6
# 132 multiprocessors at 1.98 GHz, each with 64 lanes for integers and conversions a clock: such instructions
# are what bounds kernels that are not bound by memory.
OPERATIONS_PER_S = 132 * 1.98e9 * 64
CHANNEL_STEP = 8  # tensor cores read so many channels of 16 bits together

NODES = "launches"
IN_MEMORY, IN_INSTRUCTIONS = "our kernels, by bytes", "our kernels, by instructions"
ELEMENT_BYTES = {"f32": 4, "f16": 2, "bf16": 2}

Row = namedtuple("Row", "kind count ms measured_ms")


def tensors_of(call):
    """(type, sizes) of what a call reads and writes."""
    return [(dtype, [int(each) for each in sizes.split("x")])
            for dtype, sizes in re.findall(r"\b(f32|f16|bf16) (\d+(?:x\d+)*)", call)]


def is_narrow(call):
    return tensors_of(call)[0][0] != "f32"


def padded_bytes(call):
    """Of copies with as many channels as tensor cores want, of those tensors that have fewer."""
    total = 0
    for dtype, sizes in tensors_of(call):
        if sizes[1] % CHANNEL_STEP:
            channels = -(-sizes[1] // CHANNEL_STEP) * CHANNEL_STEP
            elements = channels
            for size in sizes[:1] + sizes[2:]:
                elements *= size
            total += elements * ELEMENT_BYTES[dtype]
    return total


def convolution_seconds(command):
    """Its windows are too small to hide what it reads and writes."""
    moved = command["bytes"] / BYTES_PER_S
    if not is_narrow(command["call"]):
        return "convolution", command["flops"] / F32_FLOP_PER_S + moved
    padded = padded_bytes(command["call"])
    if padded > command["scratch_bytes"]:
        return "convolution without tensor cores", command["flops"] / NO_TENSOR_CORES_FLOP_PER_S
    return "convolution", command["flops"] / NARROW_FLOP_PER_S + moved + 2 * padded / BYTES_PER_S


def library_seconds(command):
    """Of a call: what it is, and how long."""
    rate = NARROW_FLOP_PER_S if is_narrow(command["call"]) else F32_FLOP_PER_S
    computing, moving = command["flops"] / rate, command["bytes"] / BYTES_PER_S
    op = command["call"].split()[0]
    if op.startswith("attention"):  # gradients write scores to scratch, and read them
        return "attention", computing + 2 * command["scratch_bytes"] / BYTES_PER_S
    if op.startswith("convolution"):
        return convolution_seconds(command)
    return "matmul", max(computing, moving)


def command_seconds(command):
    """What a command is, and how long it takes without its launch."""
    if "call" in command:
        return library_seconds(command)
    moving, executing = command["bytes"] / BYTES_PER_S, command.get("operations", 0) / OPERATIONS_PER_S
    return (IN_MEMORY, moving) if moving >= executing else (IN_INSTRUCTIONS, executing)


def predicted(commands, measured=()):
    """Rows by kind, the longest first, launches and all of it last; beside what each command took in microseconds, where
    that is known. A command that stands for several has their `count`."""
    kinds = {}
    measured = list(measured) if len(measured) == len(commands) else [None] * len(commands)
    for command, took in zip(commands, measured):
        kind, seconds = command_seconds(command)
        count = command.get("count", 1)
        row = kinds.setdefault(kind, [0, 0.0, 0.0])
        row[0] += count
        row[1] += count * seconds * 1e3
        row[2] += took * 1e-3 if took is not None else 0.0
    is_measured = any(took is not None for took in measured)
    rows = [Row(kind, count, ms, took if is_measured else None) for kind, (count, ms, took) in kinds.items()]
    rows.sort(key=lambda row: -row.ms)
    count = sum(row.count for row in rows)
    rows.append(Row(NODES, count, count * NODE_SECONDS * 1e3, None))
    rows.append(Row("in all", count, sum(row.ms for row in rows), sum(row.measured_ms for row in rows[:-1]) if is_measured else None))
    return rows


def step_ms(commands):
    return predicted(commands)[-1].ms


def commands_of(inspected, graph="train"):
    """Of the plan for cards; none where there is none."""
    for plan in inspected.get("plans", []):
        if plan.get("target") == "cuda":
            for each in plan["graphs"]:
                if each["name"] == graph:
                    return each["commands"]
    return []


def lines_of(rows):
    """As a table; what was measured stands beside it."""
    text = [f"{'':34} {'commands':>8} {'ms':>9}" + (f" {'measured':>9}" if rows[-1].measured_ms is not None else "")]
    for row in rows:
        text.append(f"{row.kind:34} {row.count:8} {row.ms:9.3f}" + (f" {row.measured_ms:9.3f}" if row.measured_ms is not None else ""))
    return text


def inspected(path, tool):
    if path.endswith(".json"):
        with open(path) as file:
            return json.load(file)
    return json.loads(subprocess.run([tool, "inspect", path, "--json"], check=True, stdout=subprocess.PIPE).stdout.decode())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="+", help="an artifact, or what inspect --json printed of it")
    parser.add_argument("--gradus", default="gradus", help="the tool (gradus)")
    options = parser.parse_args()
    for path in options.file:
        try:
            commands = commands_of(inspected(path, options.gradus))
        except (OSError, ValueError) as error:
            sys.exit(f"{path}: {error}")
        except subprocess.CalledProcessError as error:
            sys.exit(error.returncode)  # the tool has said why
        if not commands:
            sys.exit(f"{path} has no plan for GPUs with a graph train; expected one compiled with --target cuda")
        print(path, *lines_of(predicted(commands)), sep="\n")


if __name__ == "__main__":
    main()
