"""How a training ends early: what is kept of it, and what is said."""

import contextlib
import io
import os
import sys
import traceback
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package import WithSteps, arrays, batch, needs_package  # noqa: E402


class Stop:
    """Ends a run in its step number `at`, and keeps what on_end gets."""

    def __init__(self, at, error=KeyboardInterrupt):
        self.left, self.error, self.ended = at, error, []

    def on_step(self, number, outputs):
        self.left -= 1
        if self.left == 0:
            raise self.error

    def on_end(self, records):
        self.ended.append((len(records), records.run["run"]["ended"]))


@needs_package
class Endings(WithSteps):
    def test_what_ends_a_run_has_its_records(self):
        for error, how, options in ((KeyboardInterrupt, "interrupted", {}), (OSError("gone"), "failed", {}),
                                    (KeyboardInterrupt, "interrupted", {"checkpoint": self.at("a.safetensors")})):
            stop, step = Stop(7, error), self.load()
            with self.assertRaises((KeyboardInterrupt, OSError)) as caught:
                step.fit(arrays(96), epochs=4, callbacks=stop, **options)
            records = caught.exception.records
            self.assertEqual([each["step"] for each in records], [3, 6])
            self.assertIn("<iframe", records._repr_html_())
            self.assertEqual(stop.ended, [(2, how)])
            if error is KeyboardInterrupt and not options:
                self.assertRegex(str(caught.exception), "after step 1 of epoch 3; the step has made 7 steps, and its next fit goes on with its state")
                self.assertEqual(step.fit(arrays(96))[0]["step"], 10)

    def test_the_last_line_says_where_a_run_was_ended(self):
        for error, how in ((KeyboardInterrupt, "interrupted"), (OSError("gone"), "failed")):
            shown = io.StringIO()
            with contextlib.redirect_stderr(shown), self.assertRaises((KeyboardInterrupt, OSError)):
                self.load().fit(arrays(160), epochs=4, callbacks=Stop(9, error), progress=True)
            self.assertRegex(shown.getvalue(), rf"\repoch 2/4  step 4/5  {how} *\n$")

    def test_a_callback_that_fails_at_the_end_hides_no_reason(self):
        class Broken(Stop):
            def on_end(self, records):
                raise KeyError("mine")

        with self.assertWarnsRegex(UserWarning, "mine"), self.assertRaisesRegex(OSError, "gone"):
            self.load().fit(arrays(64), callbacks=Broken(1, OSError("gone")))

    def test_tracebacks_have_the_users_lines(self):
        import gradus

        def rows():
            yield batch(0)
            raise RuntimeError("mine")

        def frames(*data, **options):
            try:
                self.load().fit(*data, **options)
            except (gradus.Error, RuntimeError, KeyboardInterrupt) as error:
                return [(os.path.basename(each.filename), each.name) for each in traceback.extract_tb(error.__traceback__)][1:]

        self.assertEqual(frames(arrays(64), checkpoint=self.folder), [("_step.py", "fit")])
        self.assertEqual(frames(arrays(64), callbacks=Stop(1)), [("_step.py", "fit")])
        self.assertEqual(frames(rows()), [("_step.py", "fit"), ("fit_endings_test.py", "rows")])


if __name__ == "__main__":
    unittest.main()
