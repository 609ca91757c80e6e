"""Reads .safetensors files as numpy arrays that show the file."""

import json
import os

from ._arrays import NUMPY_NAMES
from ._core import InvalidError

TYPES = {dtype.upper(): kind for dtype, kind in NUMPY_NAMES.items()}  # the file's word -> numpy's


def read(path):
    """Name -> array; the arrays are mapped from the file and can only be read."""
    import numpy

    header, start = _header(path)
    size = os.path.getsize(path)
    whole = numpy.memmap(path, numpy.uint8, "r") if size else None
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (start + offset for offset in entry["data_offsets"])
        if entry["dtype"] not in TYPES or end > size:
            raise InvalidError(f"{path}: tensor {name!r} is of type {entry['dtype']} or ends behind the file")
        arrays[name] = whole[begin:end].view(TYPES[entry["dtype"]]).reshape(entry["shape"])
    return arrays


def metadata(path):
    """The file's own metadata: strings by name."""
    return _header(path)[0].get("__metadata__", {})


def _header(path):
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > os.path.getsize(path):
            raise InvalidError(f"{path}: is no .safetensors file: its header would have {size} bytes")
        try:
            return json.loads(file.read(size)), 8 + size
        except ValueError as error:
            raise InvalidError(f"{path}: is no .safetensors file: {error}") from None
