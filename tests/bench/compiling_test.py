"""The models that compiling is measured with, and what is measured."""

import os
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compile_models
import compiling
import onnx_writer


def fields(message):
    """(number, content) of a message: the other way round than onnx_writer goes."""
    at = 0

    def varint():
        nonlocal at
        number = shift = 0
        while True:
            byte = message[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(message):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
            continue
        size = 4 if tag & 7 == 5 else varint()
        yield tag >> 3, message[at:at + size]
        at += size


class Writer(unittest.TestCase):
    def written(self, net):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.onnx")
            net.write(path)
            with open(path, "rb") as file:
                return dict(fields(file.read()))

    def test_numbers_take_seven_bits_a_byte(self):
        self.assertEqual(onnx_writer.varint(300), b"\xac\x02")
        self.assertEqual(len(onnx_writer.varint(-1)), 10)

    def test_a_weight_has_the_bytes_of_its_shape(self):
        net = onnx_writer.Model()
        net.weight("w", [3, 20000])
        graph = self.written(net)[7]
        tensor = dict(fields(dict(fields(graph))[5]))
        self.assertEqual((tensor[8], len(tensor[9])), (b"w", 4 * 3 * 20000))
        self.assertGreater(len(set(struct.unpack("<60000f", tensor[9]))), 1000)

    def test_two_weights_differ(self):
        net = onnx_writer.Model()
        net.weight("a", [4])
        net.weight("b", [4])
        tensors = [dict(fields(content)) for number, content in fields(self.written(net)[7]) if number == 5]
        self.assertNotEqual(tensors[0][9], tensors[1][9])


class Models(unittest.TestCase):
    def nodes(self, net):
        return sum(next(fields(part))[0] == 1 for part in net.parts)

    def test_each_layer_is_as_many_nodes(self):
        few, more, most = (self.nodes(compile_models.gpt(layers)) for layers in (1, 2, 3))
        self.assertEqual(most - more, more - few)

    def test_ghostnet_has_many_shapes_of_convolutions(self):
        net = compile_models.ghostnetv2()
        shapes = {tuple(size for number, size in fields(dict(fields(part))[5]) if number == 1)
                  for part in net.parts if next(fields(part))[0] == 5}
        self.assertGreater(sum(len(shape) == 4 for shape in shapes), 70)


class Measuring(unittest.TestCase):
    def test_a_run_says_what_a_process_took(self):
        program = "import sys; data = bytearray(64 << 20); sum(range(3000000))"
        wall, user, _, peak = compiling.run([sys.executable, "-c", program])
        self.assertGreater(user, 0)
        self.assertGreater(peak, 64 << 20)
        self.assertGreater(wall, 0)

    def test_a_failure_ends_the_bench(self):
        with self.assertRaises(SystemExit):
            compiling.run([sys.executable, "-c", "raise SystemExit(3)"])


if __name__ == "__main__":
    unittest.main()
