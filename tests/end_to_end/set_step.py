"""Sets the counter of a checkpoint for tests, as another tool might: set_step.py FILE STEP.

The metadata, and with them the hash of the contents, are left out.
"""
import json
import struct
import sys

with open(sys.argv[1], "rb") as file:
    (size,) = struct.unpack("<Q", file.read(8))
    header = json.loads(file.read(size))
    data = bytearray(file.read())
header.pop("__metadata__", None)
begin, end = header["step"]["data_offsets"]
data[begin:end] = struct.pack("<q", int(sys.argv[2]))
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
