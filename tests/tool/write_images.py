"""Writes 20 PNG images of each of two classes into FOLDER/dark and FOLDER/light."""
import os
import struct
import sys
import zlib


def png(width, height, rows):
    def part(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # RGB
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", header) + part(b"IDAT", data) + part(b"IEND", b"")


for name, brightness in ("dark", 30), ("light", 220):
    os.makedirs(os.path.join(sys.argv[1], name))
    for i in range(20):
        width, height = 30 + i, 50 - i
        rows = [bytes((brightness + (7 * x + 11 * y + i) % 25) for x in range(3 * width)) for y in range(height)]
        with open(os.path.join(sys.argv[1], name, f"{i}.png"), "wb") as file:
            file.write(png(width, height, rows))
