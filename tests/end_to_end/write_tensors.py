"""Writes a .safetensors file for tests: write_tensors.py FILE NAME:DTYPE:SHAPE[:VALUE,...]...

SHAPE is 4,1,28,28 (empty: a scalar). Values repeat; without any, floats are
0, 0.01, ... and integers 0.
"""
import itertools
import json
import math
import struct
import sys

CODES = {"f32": "f", "f64": "d", "i64": "q", "i32": "i", "u8": "B"}


def tensor(text):
    name, dtype, shape, *values = text.split(":")
    shape = [int(size) for size in shape.split(",") if size]
    count = math.prod(shape)
    number = float if dtype.startswith("f") else int
    if values:
        elements = list(itertools.islice(itertools.cycle(number(value) for value in values[0].split(",")), count))
    else:
        elements = [0.01 * (i % 97) if number is float else 0 for i in range(count)]
    return name, dtype.upper(), shape, struct.pack(f"<{count}{CODES[dtype]}", *elements)


header, data = {}, b""
for argument in sys.argv[2:]:
    name, dtype, shape, elements = tensor(argument)
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(elements)]}
    data += elements
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
