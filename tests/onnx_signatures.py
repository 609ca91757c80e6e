"""Holds frontends/onnx/file/signatures.def to the `onnx` package: for each op that is taken, and each opset in which its form changed,
how many inputs and outputs a node may have, of what types its attributes are, and what they are where they are missing. Prints what
is wrong, a line each; with --write writes the table instead."""

import os
import re
import sys

import numpy as np
import onnx.defs
import onnx.helper

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "frontends", "onnx", "operators")
TABLE = os.path.join(FOLDER, "..", "file", "signatures.def")
LETTERS = {"FLOAT": "f", "INT": "i", "STRING": "s", "TENSOR": "t", "GRAPH": "g", "FLOATS": "F", "INTS": "I", "STRINGS": "S",
           "TENSORS": "T", "GRAPHS": "G", "SPARSE_TENSOR": "x", "TYPE_PROTO": "p"}
ANY_NUMBER = 2**31 - 1
HEADER = """\
// ONNX's forms of nodes: the first opset, the maximum number of inputs and of
// outputs (-1: any number), and the types of the attributes by the letters of
// signatures.cpp, with their values where they are missing. Written by
// tests/onnx_signatures.py --write.
//
// GRADUS_SIGNATURE(op, since, inputs, outputs, attributes)
"""


def taken_ops():
    """The names in the importer's tables."""
    names = set()
    for file in os.listdir(FOLDER):
        if file.endswith(".cpp"):
            with open(os.path.join(FOLDER, file)) as text:
                names.update(re.findall(r'(?:\{|drawing\()"(\w+)",\s*\{?\d', text.read()))
    return names


def fallback(attribute):
    """What ONNX says where an attribute is missing: `=0`, `=0,2,3`; empty if it does not say."""
    if not attribute.default_value.type:
        return ""
    value = onnx.helper.get_attribute_value(attribute.default_value)
    values = [each.decode() if isinstance(each, bytes) else str(np.float32(each)) if isinstance(each, float) else str(each)
              for each in (value if isinstance(value, list) else [value])]
    assert not any(set(each) & set(' ,:="') for each in values), (attribute.name, values)
    return "=" + ",".join(values)


def forms(schemas):
    """The forms of one op, without opsets in which nothing of it changed."""
    rows = []
    for schema in sorted(schemas, key=lambda each: each.since_version):
        most = [-1 if count == ANY_NUMBER else count for count in (schema.max_input, schema.max_output)]
        attributes = " ".join(f"{LETTERS[each.type.name]}:{name}{fallback(each)}" for name, each in sorted(schema.attributes.items()))
        if not rows or rows[-1][1:] != (*most, attributes):
            rows.append((schema.since_version, *most, attributes))
    return rows


def lines():
    schemas = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            schemas.setdefault(schema.name, []).append(schema)
    for name in sorted(taken_ops() & set(schemas)):
        for since, inputs, outputs, attributes in forms(schemas[name]):
            yield f'GRADUS_SIGNATURE("{name}", {since}, {inputs}, {outputs}, "{attributes}")'


def main():
    text = HEADER + "\n".join(lines()) + "\n"
    if "--write" in sys.argv[1:]:
        with open(TABLE, "w") as file:
            file.write(text)
        return
    with open(TABLE) as file:
        written = file.read()
    wanted, found = set(text.splitlines()), set(written.splitlines())
    for line in sorted(wanted - found):
        print(f"signatures.def lacks {line}")
    for line in sorted(found - wanted):
        print(f"signatures.def has, and ONNX does not: {line}")


if __name__ == "__main__":
    main()
