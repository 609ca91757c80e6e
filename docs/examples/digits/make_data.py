"""Makes train.safetensors and test.safetensors from the UCI optical digits.

Run in a virtual environment with numpy and scikit-learn (only its data file is
read). Every fifth sample of each class, in a fixed shuffled order, is kept for
the test. Images are enlarged from 8x8 to 24x24 by repeating pixels, framed with
two pixels of background, and scaled from 0..16 to 0..1.
"""

import gzip
import importlib.util
import json
import os
import random

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))


def samples():
    folder = os.path.dirname(importlib.util.find_spec("sklearn").origin)
    with gzip.open(os.path.join(folder, "datasets", "data", "digits.csv.gz")) as file:
        rows = numpy.loadtxt(file, delimiter=",")
    return rows[:, :64].reshape(-1, 8, 8), rows[:, 64].astype(numpy.int64)


def enlarge(images):
    large = images.repeat(3, axis=1).repeat(3, axis=2)
    framed = numpy.pad(large, ((0, 0), (2, 2), (2, 2)))
    return (framed / 16).astype(numpy.float32)[:, None]


def split(labels):
    order = list(range(len(labels)))
    random.Random(0).shuffle(order)
    order.sort(key=lambda index: labels[index])  # stable: shuffled within a class
    test = order[::5]
    train = sorted(set(order) - set(test))
    return train, sorted(test)


def save(name, tensors):
    """The safetensors format: length of the header, header, bytes."""
    header, offset = {"__metadata__": {"source": "UCI Optical Recognition of Handwritten Digits, CC BY 4.0"}}, 0
    for key, (dtype, array) in tensors.items():
        header[key] = {"dtype": dtype, "shape": array.shape, "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(HERE, name), "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, array in tensors.values():
            file.write(numpy.ascontiguousarray(array).tobytes())


def main():
    images, labels = samples()
    images = enlarge(images)
    for name, chosen in zip(("train.safetensors", "test.safetensors"), split(labels)):
        save(name, {"image": ("F32", images[chosen]), "label": ("I64", labels[chosen])})
        print(name, len(chosen), "samples")


if __name__ == "__main__":
    main()
