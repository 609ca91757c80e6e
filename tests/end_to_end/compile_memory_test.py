"""What compiling takes of a model's weights: they are in memory once at most, as pages of the file they lie in."""

import json
import multiprocessing
import os
import struct
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "bench")]
from onnx_writer import FLOAT, Model, integer, message  # noqa: E402
from resumed_training import GRADUS, Folder  # noqa: E402
from this_build import is_sanitized  # noqa: E402

SMALL, LARGE = 64, 4096  # rows and columns of a matrix: 16 KiB, 64 MiB


def entry(key, value):
    return message(13, message(1, key) + message(2, str(value)))


@unittest.skipIf(is_sanitized(), "sanitizers take memory of their own")
class CompileMemory(unittest.TestCase):
    def setUp(self):
        self.folder = Folder(self.id().rsplit(".", 1)[-1])

    def model(self, size, beside=False):
        net = Model()
        net.weight("w", [size, size])
        if beside:
            with open(self.folder.at(f"{size}.data"), "wb") as data:
                data.write(net.numbers([size, size], 0, None, 0.05))
            net.parts[-1] = message(5, integer(1, size) + integer(1, size) + integer(2, FLOAT) + message(8, "w")
                                    + entry("location", f"{size}.data") + integer(14, 1))
        net.output("y", net.node("MatMul", [net.input("x", [2, size]), "w"]), [2, size])
        net.write(self.folder.at(f"{size}.onnx"))

    def weights(self, size):
        data = struct.pack("<64f", *range(64)) * (size * size // 64)
        header = json.dumps({"w": {"dtype": "F32", "shape": [size, size], "data_offsets": [0, len(data)]}}).encode()
        with open(self.folder.at(f"{size}.safetensors"), "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header + data)

    def peak(self, size, options):
        """Bytes that the process has at most."""
        process = subprocess.Popen([GRADUS, "compile", self.folder.at(f"{size}.onnx"), *options,
                                    "-o", self.folder.at(f"{size}.gradus")], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss * 1024

    def apart(self, write, *arguments, **options):
        """In a process of its own: what this one once had counts as its children's."""
        writer = multiprocessing.get_context("fork").Process(target=write, args=arguments, kwargs=options)
        writer.start()
        writer.join()
        self.assertEqual(writer.exitcode, 0)

    def check(self, options=lambda size: []):
        few, many = (self.peak(size, options(size)) for size in (SMALL, LARGE))
        weights = 4 * LARGE * LARGE
        self.assertGreater(os.path.getsize(self.folder.at(f"{LARGE}.gradus")), weights)
        self.assertLess(many - few, 1.3 * weights)

    def test_weights_in_the_model(self):
        for size in (SMALL, LARGE):
            self.apart(self.model, size)
        self.check()

    def test_weights_beside_the_model(self):
        for size in (SMALL, LARGE):
            self.apart(self.model, size, beside=True)
        self.check()

    def test_weights_over_those_of_the_model(self):
        for size in (SMALL, LARGE):
            self.apart(self.model, size)
            self.apart(self.weights, size)
        self.check(lambda size: ["--weights", self.folder.at(f"{size}.safetensors")])


if __name__ == "__main__":
    unittest.main()
