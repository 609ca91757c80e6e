"""What the bench of DimReduce makes of its files and figures."""

import math
import os
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import boost
import dim_reduce


def labels_of(path):
    header, content = boost.read_tensors(path)
    begin, end = header["label"]["data_offsets"]
    return struct.unpack(f"<{(end - begin) // 8}q", content[begin:end]), content[:begin], content[end:]


class Files(unittest.TestCase):
    def test_so_many_labels_are_of_another_class(self):
        source = os.path.join(dim_reduce.DIGITS, "train.safetensors")
        with tempfile.TemporaryDirectory() as folder:
            target = os.path.join(folder, "spoilt.safetensors")
            dim_reduce.with_false_labels(source, target, 0.3)
            (before, *others), (after, *same) = labels_of(source), labels_of(target)
        self.assertEqual(others, same)
        self.assertEqual(sum(a != b for a, b in zip(before, after)), round(0.3 * len(before)))
        self.assertEqual(set(after), set(range(10)))

    def test_the_rows_of_a_random_basis_are_orthonormal(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "random.npy")
            dim_reduce.write_random_basis(path, 3, 50)
            with open(path, "rb") as file:
                content = file.read()
        begin = 10 + struct.unpack("<H", content[8:10])[0]
        self.assertEqual(begin % 64, 0)
        self.assertIn(b"'shape': (3, 50)", content[:begin])
        numbers = struct.unpack("<150d", content[begin:])
        rows = [numbers[50 * row:50 * row + 50] for row in range(3)]
        for i, one in enumerate(rows):
            for j, other in enumerate(rows):
                self.assertAlmostEqual(math.fsum(a * b for a, b in zip(one, other)), i == j, 12)


class Bound(unittest.TestCase):
    def test_is_a_step_two_forward_passes_and_three_readings(self):
        self.assertAlmostEqual(dim_reduce.bound_of(first=10, forward=3, basis_bytes=2e9, bandwidth=60), 1.1 * (10 + 6 + 100))


if __name__ == "__main__":
    unittest.main()
