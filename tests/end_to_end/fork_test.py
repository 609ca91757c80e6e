"""What a child of fork may do with the library that its parent has loaded."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from embedded import LIBRARY, Gradus  # noqa: E402
from resumed_training import DIGITS, GRADUS, Folder, run  # noqa: E402
from this_build import is_sanitized  # noqa: E402

THREADS = 3  # of a session; a library call meets them at barriers


@unittest.skipUnless(os.path.exists(LIBRARY), "libgradus.so is not built")
@unittest.skipIf(is_sanitized(), "a library with sanitizers cannot be loaded by a program without")
class Fork(unittest.TestCase):
    def setUp(self):
        self.folder = Folder(f"fork_{self._testMethodName}")
        self.artifact = self.folder.at("lenet.gradus")
        run([GRADUS, "compile", os.path.join(DIGITS, "lenet.onnx"), "--recipe", os.path.join(DIGITS, "recipe.json"),
             "--libraries", "always", "-o", self.artifact])
        self.gradus = Gradus()
        self.session = self.gradus.load(self.artifact, THREADS)
        self.assertTrue(self.gradus.step(self.session), self.gradus.error(self.session))

    def tearDown(self):
        self.assertTrue(self.gradus.step(self.session), self.gradus.error(self.session))
        self.gradus.free(self.session)

    def expect_in_child(self, text, act, leave=os._exit):
        """A child of fork does it, gives that text and ends."""
        there, here = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(here, act().encode())
                leave(0)
            finally:
                os._exit(1)  # No other test runs in the child.
        os.close(here)
        with os.fdopen(there) as answer:
            self.assertIn(text, answer.read())
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_steps_and_states_are_the_parents(self):
        words = "this session was loaded by the parent process, before fork; load the artifact in this one"
        gradus, session = self.gradus, self.session
        for act in (lambda: gradus.step(session), lambda: gradus.save(session, self.folder.at("c.safetensors"))):
            self.expect_in_child(words, lambda act=act: str(act()) + gradus.error(session))
        self.assertFalse(os.path.exists(self.folder.at("c.safetensors")))

    def test_a_session_of_the_parents_can_be_freed(self):
        self.expect_in_child("freed", lambda: self.gradus.free(self.session) or "freed")

    def test_a_child_may_load_its_own(self):
        def act():
            session = self.gradus.load(self.artifact, THREADS)
            done = self.gradus.step(session)
            self.gradus.free(session)
            return f"stepped {done}"
        self.expect_in_child("stepped True", act)

    def test_a_child_may_end_with_all_that_a_program_does_at_its_end(self):
        self.expect_in_child("", lambda: "", leave=self.gradus.library.exit)


if __name__ == "__main__":
    unittest.main()
