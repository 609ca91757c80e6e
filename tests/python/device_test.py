"""Inputs that lie in the memory of the GPU that a step runs on; here the emulated one."""

import ctypes
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package import BUILD, batch, digits, needs_package  # noqa: E402

EMULATED = os.path.join(BUILD, "lib", "libgradus_emulated.so")
CUDA, EMULATED_GPU = 2, 12  # device types of DLPack; the last one is that of devices which it does not know
SQUARES = b"""
gradus.program @squares {
  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, value = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>}
  gradus.graph @train(%coefficient: tensor<3xf32>, %number: tensor<i64>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<3xf32>
    %square = arith.mulf %w, %w : tensor<3xf32>
    %part = arith.mulf %coefficient, %square : tensor<3xf32>
    %sum = gradus.reduce sum %part axes [0] : tensor<3xf32> -> tensor<f32>
    %factor = arith.sitofp %number : tensor<i64> to tensor<f32>
    %loss = arith.mulf %sum, %factor : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}"""


class Array(ctypes.Structure):
    """DLPack's struct, with what is behind it in a capsule."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
                ("context", ctypes.c_void_p), ("free", ctypes.c_void_p)]


class OnCard:
    """An array of numbers in the memory of the emulated GPU, as other libraries have them on a card."""

    def __init__(self, numbers, device=0, dtype="float32", strides=None, kind=EMULATED_GPU):
        import numpy

        numbers = numpy.asarray(numbers, dtype)
        memory = ctypes.CDLL(EMULATED).gradus_emulated_memory
        memory.restype, memory.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_size_t)
        self.place = (kind, device)
        self.shape = (ctypes.c_int64 * numbers.ndim)(*numbers.shape)
        self.strides = (ctypes.c_int64 * numbers.ndim)(*strides) if strides else None
        self.array = Array(memory(numbers.ctypes.data, numbers.nbytes), *self.place, numbers.ndim,
                           2 if numbers.dtype.kind == "f" else 0, numbers.itemsize * 8, 1, self.shape, self.strides, 0, None, None)
        self.streams = []

    def __dlpack_device__(self):
        return self.place

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self.array), b"dltensor", None)


@needs_package
@unittest.skipUnless(os.path.exists(EMULATED), "the emulated GPU is not built")
class Device(unittest.TestCase):
    def setUp(self):
        os.environ["GRADUS_EMULATED_LIBRARY"] = EMULATED
        self.addCleanup(os.environ.pop, "GRADUS_EMULATED_LIBRARY")
        self.step = self.compiled("emulated")

    def compiled(self, device):
        import gradus

        step = gradus.compile(SQUARES, cache=False, device=device, optimizer={"type": "sgd", "learning_rate": 0.0})
        self.addCleanup(step.close)
        return step

    def test_an_array_is_read_where_it_is(self):
        import numpy

        given = OnCard([1, 1, 1])
        for _ in range(3):
            self.assertEqual(self.step(given, 2).loss, 28)
        self.assertEqual(given.streams, [1, 1, 1])  # the default stream, which the step waits for
        host = numpy.ones(3, "float32")
        self.assertEqual(self.step(host, OnCard(3, dtype="int64")).loss, 42)
        self.assertEqual(self.step(OnCard([2, 0, 0]), OnCard(1, dtype="int64")).loss, 2)
        outs = self.step.steps([(given, 1), (host, 2), (OnCard([0, 1, 0]), 3)])
        self.assertEqual([out.loss for out in outs], [14, 28, 12])

    def test_a_bound_array_is_the_hosts(self):
        """What fills an array later is in some stream, which only a call with the array tells."""
        import gradus

        with self.assertRaisesRegex(gradus.InvalidError, 'input "coefficient": an array that is bound lies in the host\'s memory'):
            self.step.bind("coefficient", OnCard([1, 1, 1]))

    def test_what_does_not_fit_is_refused(self):
        import gradus

        own = r"expected one in the host's memory or on the emulated GPU; .cpu\(\) gives one"
        for words, given in ((f'input "coefficient": the array is on cuda:1; {own}', OnCard([1, 1, 1], device=1, kind=CUDA)),
                             (f"the array is on cuda:0; {own}", OnCard([1, 1, 1], kind=CUDA)),
                             (f"the array is on rocm:0; {own}", OnCard([1, 1, 1], kind=10)),
                             (r"expected f32\[3\], found f32\[2\]", OnCard([1, 1])),
                             (r"expected f32\[3\], found f64\[3\]", OnCard([1, 1, 1], dtype="float64")),
                             ("expected a dense array of .* another order", OnCard([1, 1, 1], strides=[2]))):
            with self.assertRaisesRegex(gradus.InvalidError, words):
                self.step(given, 1)
        with self.assertRaisesRegex(gradus.InvalidError, r"expected a dense array of i64\[\], found i32\[\] in the memory of a device"):
            self.step(OnCard([1, 1, 1]), OnCard(3, dtype="int32"))
        for place, error in (((), IndexError), ((EMULATED_GPU,), IndexError), (("gpu", 0), TypeError), ((2**70, 0), OverflowError)):
            given = OnCard([1, 1, 1])
            given.place = place
            with self.assertRaises(error):
                self.step(given, 1)
        self.assertEqual(self.step(OnCard([1, 1, 1]), 1).loss, 14)

    def test_a_step_on_the_cpu_takes_none(self):
        import gradus

        step = self.compiled("cpu")
        for place, given in (("cuda:0", OnCard([1, 1, 1], kind=CUDA)), ("the emulated GPU", OnCard([1, 1, 1]))):
            with self.assertRaisesRegex(gradus.InvalidError, f'input "coefficient": the array is on {place}; expected one in the host\'s '
                                                             r"memory; .cpu\(\) gives one that the host has$"):
                step(given, 1)

    def test_a_refusal_of_the_arrays_own_library_says_where_it_lies(self):
        """As PyTorch refuses a tensor on a card that requires a gradient."""
        import gradus

        class Kept(OnCard):
            def __dlpack__(self, stream=None):
                raise BufferError("it is kept; use .detach()")

        given = Kept([1, 1, 1], kind=CUDA)
        for step, places in ((self.step, "the host's memory or on the emulated GPU"), (self.compiled("cpu"), "the host's memory")):
            with self.assertRaisesRegex(gradus.InvalidError, r'input "coefficient": expected an array of f32\[3\] that can be read in '
                                                             f"{places}; the Kept on cuda:0 that was found says: it is kept"):
                step(given, 1)

    def digits(self, **set_):
        step = digits(targets=["emulated"], device="emulated", dims={"batch": 2}, set=set_)
        self.addCleanup(step.close)
        return step

    def test_batches_of_a_test_are_read_where_they_are(self):
        import gradus
        import numpy

        image, label = batch(0, 5)
        step, places = self.digits(**{"loss.ignore_index": -1}), (0, 2)
        whole = step.evaluate((image[:4], label[:4]))
        on_card = [(OnCard(image[i : i + 2]), label[i : i + 2]) for i in places]
        self.assertEqual(step.evaluate(on_card), whole)
        self.assertEqual([image.streams for image, _ in on_card], [[1], [1]])
        some = numpy.where(numpy.arange(4) == 1, label[:4], -1)
        ignoring = step.evaluate((image[:4], some))
        self.assertEqual(step.evaluate([(OnCard(image[i : i + 2]), some[i : i + 2]) for i in places]), ignoring)
        self.assertNotEqual(ignoring, whole)
        for words, given in (("input 'image': an array on ext_dev:0 was found; expected one in the host's memory", (OnCard(image[:1]), label[:1])),
                             ("input 'label': an array on ext_dev:0 was found", (OnCard(image[:2]), OnCard(label[:2], dtype="int64"))),
                             (r'input "image": expected f32\[2,1,28,28\], found f32\[2,1,28,27\]', (OnCard(image[:2, :, :, 1:]), label[:2]))):
            with self.assertRaisesRegex(gradus.InvalidError, words):
                step.evaluate([given])

    def test_labels_on_a_card_are_copied_where_not_all_count(self):
        image, label = batch(0, 5)
        step = self.digits(**{"loss.ignore_index": -1})

        class Copied(OnCard):
            """An array of a library that copies it to the host when numpy asks."""

            def __init__(self, numbers):
                super().__init__(numbers, dtype="int64")
                self.numbers = numbers

            def __array__(self, dtype=None, copy=None):
                return self.numbers

        label[1] = -1
        pieces = [(OnCard(image[i : i + 2]), Copied(label[i : i + 2])) for i in (0, 2)] + [(image[4:], Copied(label[4:]))]
        self.assertEqual(step.evaluate(pieces), step.evaluate((image, label)))

    def test_a_fit_reads_batches_where_they_are(self):
        import gradus
        import numpy

        image, label = batch(0, 4)
        step = self.digits()
        on_card = [(OnCard(image[i : i + 2]), OnCard(label[i : i + 2], dtype="int64")) for i in (0, 2)]
        test = [(image, label[i : i + 2]) for (image, _), i in zip(on_card, (0, 2))]
        found = step.fit(on_card, eval=test, epochs=2)
        step.reset()
        expected = step.fit((image, label), eval=(image, label), epochs=2, shuffle=False)
        self.assertEqual([(each["train"], each["test"]) for each in found], [(each["train"], each["test"]) for each in expected])
        spoiled = numpy.where(numpy.arange(28) == 3, numpy.float32("nan"), image[:2])
        with self.assertRaisesRegex(gradus.FailedError, r"step 1: the loss is nan\. The recipe's on_nonfinite"):
            step.fit([(OnCard(spoiled), label[:2])])
        with self.assertRaisesRegex(gradus.FailedError, "step 1: the loss is nan; input 'image' has nan at"):
            step.fit([(spoiled, OnCard(label[:2], dtype="int64"))])


if __name__ == "__main__":
    unittest.main()
