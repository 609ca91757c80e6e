"""Holds frontends/onnx/file/signatures.def to the `onnx` package: for each op that is taken, and each opset in which its form changed,
how many inputs and outputs a node may have, of what types its attributes are, and what they are where they are missing. Holds the
importer's handlers to the table: a number or text that one takes where an attribute is missing is what ONNX says there, for an op of
its file. Prints what is wrong, a line each; with --write writes the table instead."""

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


def handlers():
    """The importer's files: the names in the table of each, and its text."""
    for file in sorted(os.listdir(FOLDER)):
        if file.endswith(".cpp"):
            with open(os.path.join(FOLDER, file)) as opened:
                text = opened.read()
            yield file, set(re.findall(r'(?:\{|drawing\()"(\w+)",\s*\{?(?:\d|\.since)', text)), text


def taken_ops():
    """The names in the importer's tables."""
    return set().union(*(names for _, names, _ in handlers()))


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


def agrees(taken, said):
    """Whether a handler's value is ONNX's; nothing is said where an attribute must be there, or its absence has a meaning."""
    if said is None or said == taken.strip('"'):
        return True
    try:
        return float(said) == float(taken.rstrip("f"))
    except ValueError:
        return False


def unlike_onnx(table):
    """What handlers take where an attribute is missing and no op of their file does by the table."""
    values = {}  # (op, attribute) -> what its forms say
    for op, attributes in re.findall(r'"(\w+)", \d+, -?\d+, -?\d+, "([^"]*)"', table):
        for _, name, value in re.findall(r"(\w):(\w+)(?:=(\S+))?", attributes):
            values.setdefault((op, name), set()).add(value or None)
    for file, names, text in handlers():
        for key, taken in re.findall(r'\b(?:integer|number|text)\(\s*"(\w+)",\s*("\w*"|-?[\d.e-]+f?)\)', text):
            said = set().union(*(values.get((op, key), set()) for op in names))
            if said and not any(agrees(taken, each) for each in said):
                yield f"{file} takes {taken} for {key}, ONNX {', '.join(sorted(said))}"


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
    for line in unlike_onnx(text):
        print(line)


if __name__ == "__main__":
    main()
