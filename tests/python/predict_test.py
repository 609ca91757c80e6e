"""Predictions from Python: what they take, and those of averaged weights."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package import MODEL, RECIPE, batch, digits, needs_package  # noqa: E402


@needs_package
class Predictions(unittest.TestCase):
    def test_labels_are_no_input_of_a_prediction(self):
        import gradus

        image, label = batch()
        with digits() as step:
            for size in (5, 32):
                with self.assertRaisesRegex(gradus.InvalidError, r"predict takes 1 input \(image\), found 2"):
                    step.predict(image[:size], label[:size])

    def test_without_averages_it_is_said_how_to_keep_them(self):
        import gradus

        image, label = batch()
        with digits() as step:
            for ask in (lambda: step.predict(image, ema=True), lambda: step.evaluate((image, label), ema=True)):
                with self.assertRaisesRegex(gradus.InvalidError, "keeps no averages of its weights: compile it with ema=0.999"):
                    ask()

    def test_averaged_weights_predict_and_the_trained_ones_stay(self):
        import gradus
        import numpy

        image, label = batch()
        with gradus.compile(MODEL, recipe=RECIPE, ema=0.9, cache=False) as step:
            before = step.predict(image[:5]).logits
            numpy.testing.assert_array_equal(step.predict(image[:5], ema=True).logits, before)  # there are none yet
            for _ in range(3):
                step(image, label)
            state = step.save_checkpoint()
            averaged = step.predict(image[:5], ema=True).logits
            self.assertEqual(step.save_checkpoint(), state)
            self.assertFalse(numpy.array_equal(averaged, step.predict(image[:5]).logits))
            step.load_state_dict({name: step["ema/average/" + name].copy() for name in step.state_dict()}, strict=False)
            numpy.testing.assert_array_equal(averaged, step.predict(image[:5]).logits)


if __name__ == "__main__":
    unittest.main()
