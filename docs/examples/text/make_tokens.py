#!/usr/bin/env python3
"""Makes train.bin and test.bin, the bytes of English text as u16 tokens.

    make_tokens.py [-o FOLDER] [FILE...]

Without files it takes the licences that every Debian system has in
/usr/share/common-licenses. A .gz file is unpacked. The last tenth of each file
is the test, so that both have some of everything.
"""

import argparse
import array
import glob
import gzip
import os
import sys

LICENCES = "/usr/share/common-licenses/*"


def read(path):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rb") as file:
        return file.read()


def write(path, parts):
    tokens = array.array("H", list(b"".join(parts)))  # one number for each byte
    if sys.byteorder == "big":
        tokens.byteswap()
    with open(path, "wb") as file:
        tokens.tofile(file)
    print(path, len(tokens), "tokens")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default=".", help="the folder to write to")
    parser.add_argument("files", nargs="*", help="text to take instead of the licences")
    options = parser.parse_args()
    files = options.files or sorted(path for path in glob.glob(LICENCES) if not os.path.islink(path))
    texts = [read(path) for path in files]
    ends = [len(text) * 9 // 10 for text in texts]
    write(os.path.join(options.output, "train.bin"), [text[:end] for text, end in zip(texts, ends)])
    write(os.path.join(options.output, "test.bin"), [text[end:] for text, end in zip(texts, ends)])


if __name__ == "__main__":
    main()
