#!/usr/bin/env python3
"""Makes a full-size case whole: a copy of its folder with the weights and
inputs that its init.json describes by rule.

    make_weights.py CASE OUT

Every tensor is filled by a counter-based generator, splitmix64: element i of a
tensor with seed s is the mixed value of s + (i + 1) * 0x9E3779B97F4A7C15 mod
2^64. Rules: `uniform` takes the upper 24 bits as a number in [-1, 1) times
`bound`, `integer` the upper 31 bits modulo `modulus`, `constant` its `value`.
"""

import json
import os
import shutil
import struct
import sys

import numpy

GOLDEN = 0x9E3779B97F4A7C15
ROUNDS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
PIECE = 1 << 20  # elements at a time, so that memory stays small


def mixed(seed, first, count):
    """splitmix64's values number `first` to `first + count - 1`."""
    with numpy.errstate(over="ignore"):
        state = numpy.arange(first + 1, first + count + 1, dtype=numpy.uint64)
        state *= numpy.uint64(GOLDEN)
        state += numpy.uint64(seed)
        for shift, factor in ROUNDS:
            state ^= state >> numpy.uint64(shift)
            state *= numpy.uint64(factor)
        state ^= state >> numpy.uint64(31)
    return state


def piece(tensor, first, count):
    """A run of a tensor's elements, by its rule."""
    rule = tensor["rule"]
    if rule == "constant":
        return numpy.full(count, tensor["value"], numpy.float32)
    bits = mixed(tensor["seed"], first, count)
    if rule == "integer":
        return ((bits >> numpy.uint64(33)) % numpy.uint64(tensor["modulus"])).astype(numpy.int64)
    if rule != "uniform":
        raise SystemExit(f"init.json: tensor {tensor['name']} has the unknown rule {rule!r}")
    unit = (bits >> numpy.uint64(40)).astype(numpy.float32) * numpy.float32(2.0**-23) - numpy.float32(1)
    return unit * numpy.float32(tensor["bound"])


def write_elements(file, tensor):
    total = int(numpy.prod(tensor["shape"], dtype=numpy.int64))
    for first in range(0, total, PIECE):
        file.write(piece(tensor, first, min(PIECE, total - first)).tobytes())


def write_weights(path, tensors):
    with open(path, "wb") as file:
        for tensor in tensors:
            file.seek(tensor["offset"])
            write_elements(file, tensor)


def write_inputs(path, tensors):
    """A .safetensors file: the header's length, the header, the data."""
    header, offset = {}, 0
    for tensor in tensors:
        wide = tensor["rule"] == "integer"
        size = int(numpy.prod(tensor["shape"], dtype=numpy.int64)) * (8 if wide else 4)
        header[tensor["name"]] = {"dtype": "I64" if wide else "F32", "shape": tensor["shape"],
                                  "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors:
            write_elements(file, tensor)


def main(case, out):
    os.makedirs(out, exist_ok=True)
    for name in os.listdir(case):
        shutil.copyfile(os.path.join(case, name), os.path.join(out, name))
    with open(os.path.join(case, "init.json")) as file:
        init = json.load(file)
    write_weights(os.path.join(out, init["location"]), init["tensors"])
    if init.get("inputs"):
        write_inputs(os.path.join(out, "data.safetensors"), init["inputs"])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
