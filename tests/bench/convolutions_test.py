"""The programs are whole, and times are those of the commands that convolve."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import convolutions


class Program(unittest.TestCase):
    def test_each_pass_is_one_op(self):
        for which, op in (("forward", "%y = gradus.convolution %x, %w "), ("backward_data", "%y = gradus.convolution_backward_data %x, %w "),
                          ("backward_weights", "%y = gradus.convolution_backward_weights %x, %d ")):
            self.assertEqual(convolutions.program(2, 32, 8, which).count(op), 1)

    def test_a_gradient_of_weights_is_their_update(self):
        for element in convolutions.ELEMENTS:
            self.assertIn("gradus.update @w, %y : tensor<32x32x3x3xf32>", convolutions.program(2, 32, 8, "backward_weights", element))

    def test_weights_are_rounded_to_16_bits(self):
        self.assertIn("%w = arith.truncf %read : tensor<32x32x3x3xf32> to tensor<32x32x3x3xbf16>",
                      convolutions.program(2, 32, 8, "forward", "bf16"))


class Times(unittest.TestCase):
    def test_reorders_of_images_are_left_out(self):
        commands = [{"name": "reorder", "bytes": 1 << 20, "us": 1000.0}, {"name": "winograd_weights", "us": 20.0},
                    {"name": "winograd+relu", "us": 1980.0}, {"name": "update", "us": 1000.0}]
        self.assertAlmostEqual(convolutions.of_convolution(commands, 64, "us"), 2.0)

    def test_those_of_weights_and_sums_of_parts_are_not(self):
        commands = [{"name": "reorder", "bytes": 8 * 9 * 64 * 64, "us": 100.0}, {"name": "sum", "us": 50.0}, {"name": "convolution", "us": 850.0}]
        self.assertAlmostEqual(convolutions.of_convolution(commands, 64, "us"), 1.0)

    def test_expectations_are_of_the_first_device(self):
        self.assertAlmostEqual(convolutions.of_convolution([{"name": "convolution", "expected_us": [5000.0, 9.0]}], 64, "expected_us"), 5.0)


class Line(unittest.TestCase):
    def test_it_says_where_both_are_direct(self):
        figures = {"layer": (8, 64, 56), "pass": "forward", "element": "bf16", "winograd": False, "ms": {"auto": 2.0, "direct": 3.0},
                   "expected_ms": {"auto": 2.5, "direct": 2.5}}
        self.assertEqual(convolutions.line(figures), "8x64x56x56 bf16 forward          auto   2.00 ms (expected   2.50)  "
                         "direct   3.00 ms (expected   2.50)  1.50 x  auto is direct")


if __name__ == "__main__":
    unittest.main()
