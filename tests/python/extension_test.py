"""The extension below the package: what it keeps, checks and shows of arrays, and how it tells errors."""

import ctypes
import gc
import os
import pickle
import sys
import unittest
import weakref

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package import BUILD, PACKAGE, artifact, batch, digits, has_headers, needs_package  # noqa: E402


class Built(unittest.TestCase):
    @unittest.skipUnless(has_headers(), "CMake found no headers of Python")
    def test_the_extension_is_there_where_there_are_headers(self):
        self.assertTrue(os.path.exists(os.path.join(BUILD, "python", "gradus", "_core.abi3.so")))
        self.assertTrue(os.path.exists(os.path.join(PACKAGE, "gradus", "_core.abi3.so")))


class Once:
    """An array that gives its buffer once, and then fails."""

    def __init__(self, array):
        self.array, self.given = array, 0

    def __dlpack__(self, **options):
        self.given += 1
        if self.given > 1:
            raise RuntimeError("was read again")
        return self.array.__dlpack__(**options)


@needs_package
class Bound(unittest.TestCase):
    def setUp(self):
        import gradus

        self.step = gradus.load(artifact(), threads=1)
        self.addCleanup(lambda: self.step and self.step.close())
        self.image, self.label = batch()

    def loss(self, *inputs):
        self.step.reset()
        return self.step(*inputs).loss

    def graph(self):
        return self.step._session.graph("train")

    def test_an_array_is_read_once_and_a_refused_one_leaves_what_was_bound(self):
        graph = self.graph()
        label = Once(self.label)
        graph.bind("image", self.image)
        graph.bind("label", label)
        self.assertEqual(label.given, 1)
        expected = graph.step().loss
        with self.assertRaisesRegex(RuntimeError, "was read again"):
            graph.bind("label", label)
        with self.assertRaisesRegex(ValueError, "must be dense"):
            graph.bind("image", self.image[:, :, :, ::-1])
        self.step.reset()
        self.assertEqual(graph.step().loss, expected)
        graph.bind("label", None)
        with self.assertRaisesRegex(ValueError, "nothing is given or bound"):
            graph.step()

    def test_what_is_bound_is_held_and_let_go(self):
        graph = self.graph()
        first, second = self.image.copy(), self.image.copy()
        before = sys.getrefcount(first)
        graph.bind("image", first)
        self.assertEqual(sys.getrefcount(first), before + 1)
        graph.bind("image", second)
        self.assertEqual(sys.getrefcount(first), before)
        graph.bind("image", None)
        self.assertEqual(sys.getrefcount(second), before)

    def test_an_array_that_reaches_its_step_goes_with_it(self):
        import numpy

        class Array(numpy.ndarray):
            pass

        image = self.image.view(Array)
        image.step = self.step
        self.step.bind("image", image)
        gone = weakref.ref(image)
        image, self.step = None, None
        gc.collect()
        self.assertIsNone(gone())

    def test_bound_integers_are_checked_at_each_step(self):
        before = self.step.save_checkpoint()
        label = self.label.copy()
        self.step.bind("label", label)
        label[3] = 77
        with self.assertRaisesRegex(ValueError, 'input "label": element 3 is 77; expected 0 to 9'):
            self.step(self.image, None)
        with self.assertRaisesRegex(ValueError, "element 3 is 77"):
            self.graph_steps()
        self.assertEqual(self.step.save_checkpoint(), before)
        label[3] = 7
        self.step(self.image, None)

    def graph_steps(self):
        return self.step._graph("train").steps([(self.image, None)] * 2, [])


@needs_package
class Integers(unittest.TestCase):
    def test_all_types_of_integers_are_checked(self):
        import numpy

        import gradus

        text = """
gradus.program @numbers {{
  gradus.state @w : tensor<3xf32> {{role = #gradus.role<parameter>, value = dense<1.0> : tensor<3xf32>}}
  gradus.graph @train(%index: tensor<3x{}>) -> (loss: tensor<f32>) {{
    %w = gradus.read @w : tensor<3xf32>
    %loss = gradus.reduce sum %w axes [0] : tensor<3xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }}
}}"""
        for dtype in ("i32", "i64"):
            with gradus.compile(text.format(dtype).encode(), optimizer="sgd", cache=False) as step:
                graph = step._session.graph("train")
                graph.limit("index", -4, 4, 9)
                given = numpy.array([-4, 3, 9], f"int{dtype[1:]}")
                graph.step(given)
                for wrong in (-5, 4, numpy.iinfo(given.dtype).min, numpy.iinfo(given.dtype).max):
                    given[1] = wrong
                    with self.assertRaisesRegex(ValueError, f'input "index": element 1 is {wrong}; expected -4 to 3'):
                        graph.step(given)


@needs_package
class Written(unittest.TestCase):
    def test_a_view_that_is_kept_counts_whenever_it_is_written(self):
        """Also where steps compute with a rounded copy of the state, and after calls that need not know."""
        import numpy

        images, labels = batch()
        with digits(precision="bf16", threads=1) as step, digits(precision="bf16", threads=1) as other:
            weight = step["fc3.weight"]
            for factor in (0.5, 2.0, 0.25):
                self.assertEqual(step(images, labels).loss, other(images, labels).loss)
                step.step_count, step.memory, step.states
                weight *= factor
                step.get("optimizer.learning_rate")
                other["fc3.weight"] = other.state_dict()["fc3.weight"] * numpy.float32(factor)
            self.assertEqual(step(images, labels).loss, other(images, labels).loss)
            weight[:] = 0
            del weight
            other["fc3.weight"] = numpy.zeros_like(other.state_dict()["fc3.weight"])
            step.memory
            self.assertEqual(step(images, labels).loss, other(images, labels).loss)
            self.assertEqual(step.save_checkpoint(), other.save_checkpoint())


@needs_package
class Shown(unittest.TestCase):
    """Arrays of the extension itself, which numpy's are made of."""

    def setUp(self):
        from gradus import _arrays, _core

        self.session = _core.load(artifact(), None, 1, 0, None, 0, None)
        _core.set_array_maker(None)
        self.addCleanup(_core.set_array_maker, _arrays._numpy_array)

    def buffer(self, array, flags):
        """Whether an array gives a buffer for the flags; the error is of Python's own functions."""
        view = ctypes.create_string_buffer(256)
        get, release = ctypes.pythonapi.PyObject_GetBuffer, ctypes.pythonapi.PyBuffer_Release
        get.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
        get(array, view, flags)
        release.argtypes = [ctypes.c_void_p]
        release(view)

    def test_memory_is_not_shown_in_another_order_than_it_has(self):
        fortran, dense, any_order = 0x40 | 0x18, 0x20 | 0x18, 0x80 | 0x18
        weight, bias = self.session.view("fc3.weight"), self.session.view("fc3.bias")
        for flags in (dense, any_order):
            self.buffer(weight, flags)
        self.buffer(bias, fortran)  # One axis has both orders.
        with self.assertRaisesRegex(BufferError, "last axis fastest"):
            self.buffer(weight, fortran)

    def test_dlpack_is_refused_where_it_cannot_be_what_is_asked_for(self):
        weight = self.session.view("fc3.weight")
        self.assertTrue(weight.__dlpack__(stream=None, max_version=(1, 0), dl_device=(1, 0), copy=False))
        for options, words in (({"dl_device": (2, 0)}, "another device"), ({"copy": True}, "a copy is asked for")):
            with self.assertRaisesRegex(BufferError, words):
                weight.__dlpack__(**options)
        with self.assertRaises(TypeError):
            weight.__dlpack__(colour=1)


@needs_package
class Errors(unittest.TestCase):
    def test_words_that_are_not_utf_8_are_told(self):
        import gradus

        with self.assertRaisesRegex(gradus.Error, "cannot open|No such file|nowhere"):
            gradus.load("nowhere\udcff.gradus")

    def test_they_are_pickled_under_the_name_of_their_package(self):
        import gradus

        for each in (gradus.Error, gradus.InvalidError, gradus.FailedError, gradus.CancelledError):
            self.assertEqual(each.__module__, "gradus")
            again = pickle.loads(pickle.dumps(each("words")))
            self.assertIs(type(again), each)
            self.assertEqual(again.args, ("words",))

    def test_numbers_and_texts_that_c_cannot_have_are_refused(self):
        from gradus import InvalidError, _core

        for options, words in (({"threads": 2**32}, "threads: expected an integer from -2147483648 to 2147483647, found 4294967296"),
                               ({"threads": -2**80}, "threads: expected an integer"), ({"flags": -1}, "flags: expected an integer from 0"),
                               ({"overrides": ["a=1\0b"]}, "overrides: expected a text without a zero byte"),
                               ({"memory_limit": "1GiB\0"}, "memory_limit: expected a text"),
                               ({"data_files": [("w\0", b"w")]}, "data_files: expected a text without a zero byte")):
            with self.assertRaisesRegex(InvalidError, words):
                _core.compile(options)
        with self.assertRaises(TypeError):
            _core.compile({"threads": "four"})
        with self.assertRaises(TypeError):
            _core.compile({"data_files": [("w", None)]})
        with self.assertRaises(UnicodeEncodeError):  # the names of a model are UTF-8, whatever the file system's are
            _core.compile({"data_files": [("w\udcff", b"w")]})


if __name__ == "__main__":
    unittest.main()
