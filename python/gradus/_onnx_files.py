"""Which files an ONNX model has its weights in, as the fields of its protobuf
say; the model may come from anybody."""

import hashlib
import os

from ._core import InvalidError
from ._files import regular_file

# The fields that lead from a model to its tensors: (message, field) -> message.
MESSAGES = {("model", 7): "graph", ("graph", 1): "node", ("graph", 5): "tensor", ("graph", 15): "sparse", ("sparse", 1): "tensor",
            ("sparse", 2): "tensor", ("node", 5): "attribute", ("attribute", 5): "tensor", ("attribute", 6): "graph",
            ("attribute", 10): "tensor", ("attribute", 11): "graph", ("attribute", 22): "sparse", ("attribute", 23): "sparse",
            ("model", 20): "training", ("training", 1): "graph", ("training", 2): "graph", ("model", 25): "function",
            ("function", 7): "node", ("tensor", 13): "entry"}
KEY, VALUE = 1, 2  # of an entry


def locations(model):
    """The names of the files, in order, each once; None: the bytes are no protobuf."""
    found = {}
    messages = [("model", memoryview(model))]
    try:
        while messages:
            kind, data = messages.pop()
            if kind == "entry":
                entry = {field: bytes(value) for field, value in _fields(data)}
                if entry.get(KEY) == b"location":
                    found[entry.get(VALUE, b"")] = True
                continue
            messages += [(MESSAGES[kind, field], value) for field, value in _fields(data) if (kind, field) in MESSAGES]
    except (IndexError, ValueError):
        return None
    return sorted(found)


def _fields(data):
    """Number and bytes of each field that has a length; others are passed over."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        wire, length = tag & 7, 0
        if wire == 0:
            _, position = _varint(data, position)
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
        elif wire == 2:
            length, position = _varint(data, position)
        else:
            raise ValueError(f"wire type {wire}")
        if position + length > len(data):
            raise ValueError("a field ends behind its message")
        if wire == 2:
            yield tag >> 3, data[position : position + length]
        position += length


def _varint(data, position):
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise ValueError("a number has more than 64 bits")


def hash_beside(model_path, location):
    """The hash of a data file beside a model, "" where there is none. None: the file is not to be opened, as it lies
    outside of the model's folder or is no regular file, which the compiler refuses."""
    name = os.fsdecode(location)
    if not name or "\0" in name or os.path.isabs(name) or ".." in name.split("/"):
        return None
    for base in (os.path.abspath(model_path), os.path.realpath(model_path)):
        path = os.path.join(os.path.dirname(base), name)
        if os.path.lexists(path):
            return _hash(path)
    return ""


def _hash(path):
    try:
        with regular_file(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, InvalidError):
        return None
