"""The digits example holds what its README says."""

import json
import os
import struct
import unittest
from collections import Counter

DIGITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs", "examples", "digits")


def load(name):
    """(shape, values) of the image and the label."""
    with open(os.path.join(DIGITS, name), "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()

    def values(key, form, width):
        begin, end = header[key]["data_offsets"]
        return header[key]["shape"], struct.unpack(f"<{(end - begin) // width}{form}", data[begin:end])

    return values("image", "f", 4), values("label", "q", 8)


class Digits(unittest.TestCase):
    def test_the_split_has_1437_and_360_samples(self):
        for name, samples in (("train.safetensors", 1437), ("test.safetensors", 360)):
            (shape, pixels), (labels, _) = load(name)
            self.assertEqual((shape, labels), ([samples, 1, 28, 28], [samples]))
            self.assertEqual((min(pixels), max(pixels)), (0.0, 1.0))

    def test_each_class_has_a_fifth_of_its_samples_in_the_test(self):
        train, test = (Counter(load(name)[1][1]) for name in ("train.safetensors", "test.safetensors"))
        self.assertEqual(sorted(train), list(range(10)))
        for label in range(10):
            self.assertAlmostEqual(test[label], (train[label] + test[label]) / 5, delta=1)

    def test_no_image_is_in_both(self):
        def images(name):
            (shape, pixels), _ = load(name)
            return {pixels[i * 784 : (i + 1) * 784] for i in range(shape[0])}

        self.assertEqual(images("train.safetensors") & images("test.safetensors"), set())


if __name__ == "__main__":
    unittest.main()
