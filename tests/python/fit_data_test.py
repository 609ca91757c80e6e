"""Data of forms that `fit` does not take: the words name what was found and what to give."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package import artifact, batch, needs_package  # noqa: E402


@needs_package
class Data(unittest.TestCase):
    def setUp(self):
        import gradus

        self.step = gradus.load(artifact(), threads=1)
        self.addCleanup(self.step.close)

    def refused(self, words, data, **options):
        import gradus

        with self.assertRaisesRegex(gradus.InvalidError, words):
            self.step.fit(data, **options)
        self.assertEqual(self.step.step_count, 0)

    def test_arrays_in_another_form_are_told_what_to_be(self):
        image, label = batch(0, 64)
        self.refused(r"data: one array was found, expected a tuple of those of all inputs, \(image, label\)", image)
        self.refused(r"data: a list is taken as one of batches, and arrays were found in it: give .* as a tuple, \(image, label\)", [image, label])
        self.refused(r"data: lists of numbers were found, expected arrays \(image, label\): numpy.asarray", (image.tolist(), label.tolist()))
        self.refused("data: without 'image', 'label'; the inputs are image, label, and the keys that were found are x, y", {"x": image, "y": label})
        self.refused("eval: one array was found", (image, label), eval=image)
        self.refused("data: a batch came: without 'label'; .* found are image, labels", [{"image": image[:32], "labels": label[:32]}])

    def test_a_nan_is_named_with_its_sample(self):
        import gradus
        import numpy

        image, label = batch(0, 96)
        image[77, 0, 3, 5] = numpy.nan
        for given, options in (((image, label), {}), ((image, label), {"validation": 0.01}), ((image.astype("float64"), label), {})):
            with self.assertRaisesRegex(gradus.FailedError, r"input 'image' has nan at \[\d+, 0, 3, 5\] of the batch, at \[0, 3, 5\] of sample 77 of the data"):
                self.step.fit(given, seed=4, **options)
            self.step.reset()

    def test_tables_are_arrays(self):
        class Column:
            """Has what a table of Pandas has of an array."""

            def __init__(self, array):
                self.array, self.shape = array, array.shape

            def __array__(self, dtype=None, copy=None):
                return self.array

        image, label = batch(0, 64)
        self.assertEqual(self.step.fit((Column(image), Column(label)))[0]["step"], 2)

    def test_what_gives_its_batches_once_is_refused_before_the_first_epoch(self):
        def batches():
            yield batch(0)

        self.refused("data: a generator gives its batches once, and 3 epochs are to be trained", batches(), epochs=3)
        self.refused("data: a map gives its batches once", map(batch, range(3)), epochs=2)
        self.refused("data: a function was found, expected what it returns: call it", batches)
        self.assertEqual(self.step.fit(batches())[0]["step"], 1)

        class Once:
            def __init__(self):
                self.left = iter([batch(0)])

            def __iter__(self):
                return self.left

        import gradus

        with self.assertRaisesRegex(gradus.InvalidError, "epoch 2 has no full batch: nothing came; an iterator gives its batches once"):
            self.step.fit(Once(), epochs=2)


if __name__ == "__main__":
    unittest.main()
