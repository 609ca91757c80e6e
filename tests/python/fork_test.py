"""What a child of fork may do while a thread of its parent is inside a step."""

import os
import signal
import sys
import threading
import traceback
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package import artifact, batch, needs_package  # noqa: E402

PATIENCE = 60  # seconds after which a child that waits for a thread it does not have is ended


def in_child(act):
    """Lets a child of fork do it; "" or what went wrong."""
    there, here = os.pipe()
    child = os.fork()
    if child == 0:
        said = b"?"
        try:
            signal.alarm(PATIENCE)
            act()
            said = b""
        except BaseException:
            said = traceback.format_exc().encode()
        finally:
            os.write(here, said)
            os._exit(0)
    os.close(here)
    with os.fdopen(there) as answer:
        said = answer.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return said if code == 0 else f"{said}the child ended with {code}"


@needs_package
class Fork(unittest.TestCase):
    def setUp(self):
        import gradus

        self.step = gradus.load(artifact(), threads=2)
        self.addCleanup(self.step.close)
        with gradus.load(artifact(), threads=2) as other:
            self.expected = other(*batch()).loss
        self.thread = threading.Thread(target=self.run_steps)
        self.ends, self.failed = threading.Event(), []
        self.thread.start()
        self.addCleanup(self.end)
        self.wait_until_inside()

    def run_steps(self):
        import gradus

        try:
            while not self.ends.is_set():
                self.step.steps([batch()] * 500, window=500)
        except gradus.CancelledError:
            pass
        except BaseException as error:
            self.failed.append(error)

    def end(self):
        self.ends.set()
        self.step.cancel()
        self.thread.join()

    def wait_until_inside(self):
        """Returns once the other thread was inside a step; it is most of the time."""
        import gradus

        while not self.failed:
            try:
                self.step.recipe
            except gradus.InvalidError:
                return

    def forks(self, act):
        for _ in range(5):
            self.wait_until_inside()
            self.assertEqual(in_child(act), "")
        self.assertEqual(self.failed, [])

    def test_the_parents_step_says_whose_it_is(self):
        import gradus

        def act():
            for call in (lambda: self.step(*batch()), lambda: self.step["fc1.weight"], self.step.save_checkpoint):
                with self.assertRaisesRegex(gradus.InvalidError, "loaded by the parent process, before fork"):
                    call()
            self.assertIn("optimizer", self.step.recipe)

        self.forks(act)

    def test_the_parents_step_can_be_closed(self):
        def act():
            self.step.close()
            self.assertIn("closed", repr(self.step))

        self.forks(act)

    def test_a_step_of_its_own_runs(self):
        import gradus

        def act():
            with gradus.load(artifact(), threads=2) as step:
                self.assertEqual(step(*batch()).loss, self.expected)
                step["fc1.weight"][0, 0] = 1.0
                self.assertEqual(len(step.steps([batch()] * 3)), 3)

        self.forks(act)


class Asking:
    """An array that asks a step for its recipe while the step reads the array."""

    def __init__(self, step):
        self.step, self.said = step, []

    def __dlpack__(self, **_):
        import gradus
        import numpy

        try:
            self.said.append(self.step.recipe)
        except gradus.InvalidError as error:
            self.said.append(str(error))
        return numpy.zeros(1, "float32").__dlpack__()  # of no size that an input has


@needs_package
class ForkBetweenSteps(unittest.TestCase):
    def test_a_call_of_the_childs_is_the_childs(self):
        """No call runs where it is forked, and so none of the child's is taken for one of the parent's."""
        import gradus

        step = gradus.load(artifact(), threads=1)
        self.addCleanup(step.close)
        step(*batch())
        asks = Asking(step)

        def act():
            with self.assertRaisesRegex(gradus.InvalidError, "expected f32"):
                step(asks, batch()[1])
            self.assertEqual(len(asks.said), 1)
            self.assertIn("in use by another thread", str(asks.said[0]))

        self.assertEqual(in_child(act), "")


@needs_package
class ForkBesideBatches(unittest.TestCase):
    def test_the_parents_batches_say_whose_they_are(self):
        """They are prepared by threads of the parent: a child has none that it could wait for."""
        import gradus
        from gradus import _data

        image, label = batch(0, 320)
        with gradus.load(artifact(), threads=1) as step:
            data = _data.data_set((image, label), step, "train", step._graph("train").inputs, "data")
            batches = [data.epoch(0, 0)]
            first = [bytes(each) for each in next(batches[0])]

            def act():
                for _ in range(2):
                    with self.assertRaisesRegex(gradus.InvalidError, "begun by the parent process, before fork"):
                        next(batches[0])
                batches.clear()
                own = data.epoch(0, 0)
                self.assertEqual([bytes(each) for each in next(own)], first)

            for _ in range(5):
                self.assertEqual(in_child(act), "")
            self.assertEqual(sum(1 for _ in batches[0]), 9)


if __name__ == "__main__":
    unittest.main()
