"""Writes what `gradus basis` is to read, from a .safetensors file:

    write_matrix.py BASIS.safetensors PCA.npy [short | longer]
    write_matrix.py CHECKPOINT.safetensors OTHER.safetensors nan | huge

The first is MindSpore's form of a basis: a matrix of f64, each row one component of all parameters; `short` leaves out the
last column, and `longer` makes the first row twice as long. The second is a checkpoint whose fc3.bias begins with a NaN, or is f64 and ends with
1e300, which f32 cannot hold."""

import array
import json
import struct
import sys


def read(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        return header, bytearray(file.read())


def matrix(source, target, change):
    header, data = read(source)
    count = int(header.pop("__metadata__")["components"])
    rows = [array.array("d") for _ in range(count)]
    for entry in sorted(header.values(), key=lambda each: each["data_offsets"]):
        numbers = array.array("f", bytes(data[slice(*entry["data_offsets"])])).tolist()
        size = len(numbers) // count
        for k, row in enumerate(rows):
            row.extend(numbers[k * size : (k + 1) * size])
    if change == "longer":
        rows[0] = array.array("d", (2 * number for number in rows[0]))
    if change == "short":
        rows = [row[:-1] for row in rows]
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({count}, {len(rows[0])}), }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    with open(target, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
        for row in rows:
            file.write(row.tobytes())


def checkpoint(source, target, change):
    header, data = read(source)
    del header["__metadata__"]
    bias = header["fc3.bias"]
    begin, end = bias["data_offsets"]
    if change == "nan":
        data[begin : begin + 4] = struct.pack("<f", float("nan"))
    else:
        numbers = array.array("d", array.array("f", bytes(data[begin:end])))
        numbers[-1] = 1e300
        data[begin:end] = numbers.tobytes()
        for entry in header.values():
            entry["data_offsets"] = [at + (end - begin) * (at >= end) for at in entry["data_offsets"]]
        bias["dtype"] = "F64"
    text = json.dumps(header).encode()
    with open(target, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


if sys.argv[3:] in (["nan"], ["huge"]):
    checkpoint(*sys.argv[1:])
else:
    matrix(*sys.argv[1:3], sys.argv[3] if sys.argv[3:] else "")
