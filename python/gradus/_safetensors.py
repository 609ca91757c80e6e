"""Reads what a .safetensors file says of itself."""

import json
import os

from ._core import InvalidError
from ._files import regular_file


def metadata(path):
    """The file's own metadata: strings by name."""
    with regular_file(path) as file:
        size = int.from_bytes(file.read(8), "little")
        if size > os.path.getsize(path):
            raise InvalidError(f"{path}: is no .safetensors file: its header would have {size} bytes")
        try:
            return json.loads(file.read(size)).get("__metadata__", {})
        except ValueError as error:
            raise InvalidError(f"{path}: is no .safetensors file: {error}") from None
