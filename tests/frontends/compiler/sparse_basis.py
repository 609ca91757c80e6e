"""sparse_basis.py FILE NAME ROWS NUMBERS: a basis of zeros for one parameter, however large, that takes no place on the disk."""

import json
import struct
import sys

file, name, rows, numbers = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
size = 4 * rows * numbers
text = json.dumps({name: {"dtype": "F32", "shape": [rows, numbers], "data_offsets": [0, size]}}).encode()
text += b" " * (-len(text) % 8)
with open(file, "wb") as out:
    out.write(struct.pack("<Q", len(text)) + text)
    out.truncate(8 + len(text) + size)
