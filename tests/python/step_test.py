"""A step from Python: its arrays, its state, its life."""

import copy
import gc
import os
import pickle
import signal
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package import MODEL, artifact, batch, needs_package  # noqa: E402


class Telling:
    """An array that tells when it is read: the last one of a queue, right before its steps run."""

    def __init__(self, array, tell):
        self.array, self.tell = array, tell

    def __dlpack__(self, **options):
        self.tell()
        return self.array.__dlpack__(**options)


@needs_package
class Inputs(unittest.TestCase):
    def setUp(self):
        import gradus

        self.step = gradus.load(artifact(), threads=1)
        self.addCleanup(self.step.close)
        self.image, self.label = batch()

    def first(self, *inputs, **named):
        self.step.reset()
        return self.step(*inputs, **named).loss

    def test_inputs_come_by_position_name_dictionary_or_tuple(self):
        expected = self.first(self.image, self.label)
        self.assertEqual(self.first(label=self.label, image=self.image), expected)
        self.assertEqual(self.first(self.image, label=self.label), expected)
        self.assertEqual(self.first({"label": self.label, "image": self.image}), expected)
        self.assertEqual(self.first((self.image, self.label)), expected)

    def test_narrower_labels_and_arrays_that_are_not_dense_give_the_same(self):
        import numpy

        expected = self.first(self.image, self.label)
        for dtype in ("int32", "int16", "uint8", "int8"):
            self.assertEqual(self.first(self.image, self.label.astype(dtype)), expected)
        self.assertEqual(self.first(numpy.asfortranarray(self.image), self.label), expected)
        twice = numpy.repeat(self.label.astype("int32"), 2)
        self.assertEqual(self.first(self.image, twice[::2]), expected)
        self.assertEqual(self.first(self.image[::-1][::-1], self.label), expected)
        negative = numpy.full(32, -1, "int8")
        with self.assertRaisesRegex(ValueError, "element 0 is -1"):
            self.step(self.image, negative)

    def test_arrays_of_dlpack_are_taken(self):
        class Other:
            """An array that has DLPack alone."""

            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)

        expected = self.first(self.image, self.label)
        self.assertEqual(self.first(Other(self.image), Other(self.label)), expected)
        self.assertEqual(self.first(Other(self.image[::-1][::-1]), Other(self.label.astype("int32"))), expected)
        with self.assertRaisesRegex(ValueError, r'input "image": expected f32\[32,1,28,28\], found f32\[31,1,28,28\]'):
            self.step(Other(self.image[1:]), Other(self.label))

    def test_what_does_not_fit_is_refused_by_name_and_changes_nothing(self):
        import gradus

        before = self.step.save_checkpoint()
        for words, inputs in (
                (r'input "image": expected f32\[32,1,28,28\], found f64\[32,1,28,28\]; convert', (self.image.astype("f8"), self.label)),
                (r'input "image": expected f32\[32,1,28,28\], found u8\[32,1,28,28\]; pixels', (self.image.astype("u1"), self.label)),
                (r'input "image": expected f32\[32,1,28,28\], found f32\[5,1,28,28\]. Batches have 32 samples here.*dims={"batch": 5}', (self.image[:5], self.label[:5])),
                (r'input "label": expected i64\[32\], found f32\[32\]', (self.image, self.label.astype("f4"))),
                (r'input "label": element 0 is \d+; expected 0 to 9', (self.image, self.label + 10)),
                (r'input "image": expected an array .* found NoneType|nothing is given or bound', (None, self.label)),
                (r'input "label": expected an array .* found str', (self.image, self.label.tolist().__repr__())),
                (r"takes 2 inputs \(image, label\), found 3", (self.image, self.label, self.label)),
                (r"without 'label'", ({"image": self.image},)),
                (r"found 'lable'", ({"image": self.image, "lable": self.label},))):
            with self.assertRaisesRegex(gradus.InvalidError, words):
                self.step(*inputs)
        self.assertEqual(self.step.save_checkpoint(), before)

    def test_outputs_are_not_taken_apart_in_an_order(self):
        out = self.step(self.image, self.label)
        with self.assertRaisesRegex(TypeError, r"taken by name, as out.loss .* \['loss', 'accuracy'\]"):
            loss, accuracy = out
        self.assertEqual(dict(out), {"loss": out.loss, "accuracy": out.accuracy})
        self.assertTrue("loss" in out and "losses" not in out)

    def test_a_bound_array_is_read_where_none_is_given(self):
        expected = self.first(self.image, self.label)
        image = self.image.copy()
        self.step.bind("image", image)
        self.assertEqual(self.first(None, self.label), expected)
        image[:] = 0
        self.assertNotEqual(self.first(None, self.label), expected)
        with self.assertRaisesRegex(ValueError, "must be dense"):
            self.step.bind("label", self.label.astype("int32"))
        with self.assertRaisesRegex(ValueError, 'has no input "images"'):
            self.step.bind("images", image)
        self.step.bind("image", None)
        with self.assertRaisesRegex(ValueError, "nothing is given or bound"):
            self.step(None, self.label)

    def test_predictions_are_of_any_number_of_samples(self):
        import numpy

        image, _ = batch(1, 70)
        logits = self.step.predict(image).logits
        self.assertEqual(logits.shape, (70, 10))
        numpy.testing.assert_array_equal(logits[32:64], self.step.predict(image[32:64]).logits)
        numpy.testing.assert_allclose(logits[-3:], self.step.predict(image=image[-3:])["logits"], 1e-5, 1e-6)
        none = self.step.predict(image[:0]).logits
        self.assertEqual((none.shape, none.dtype), ((0, 10), logits.dtype))


@needs_package
class State(unittest.TestCase):
    def setUp(self):
        import gradus

        self.step = gradus.load(artifact(), threads=1)
        self.addCleanup(self.step.close)
        self.batch = batch()

    def test_a_view_shows_the_state_and_what_is_written_counts(self):
        import numpy

        weight = self.step["fc3.weight"]
        before = weight.copy()
        first = self.step(*self.batch).loss
        self.assertFalse(numpy.array_equal(weight, before))
        weight[:] = before
        numpy.testing.assert_array_equal(self.step.state_dict()["fc3.weight"], before)
        self.step.reset()
        self.step["fc3.weight"][:] = 0
        self.step["fc3.bias"] = numpy.zeros(10, numpy.float32)
        self.assertNotEqual(self.step(*self.batch).loss, first)

    def test_a_view_outlives_close(self):
        weight = self.step["fc3.weight"]
        expected = weight.copy()
        self.step.close()
        gc.collect()
        self.assertTrue((weight == expected).all())

    def test_roles_tell_parameters_from_moments(self):
        roles = {}
        for name, (role, _, _) in self.step.states.items():
            roles.setdefault(role, []).append(name)
        self.assertIn("fc1.weight", roles["parameter"])
        self.assertIn("step", roles["counter"])
        self.assertIn("optimizer.learning_rate", roles["number"])
        self.assertEqual(len(roles["slot"]), 2 * len(roles["parameter"]))
        self.assertEqual(set(self.step.state_dict()), set(roles["parameter"]))
        self.assertLessEqual(set(roles["slot"]), set(self.step.optimizer_state()))

    def test_state_dicts_go_in_whole_or_not_at_all(self):
        import gradus
        import numpy

        number = numpy.array(-1, self.step._session.read("optimizer.learning_rate").dtype)
        values = {name: value * 2 for name, value in self.step.state_dict().items()}
        before = self.step.save_checkpoint()
        for words, wrong in (("missing: fc3.bias", {name: value for name, value in values.items() if name != "fc3.bias"}),
                             ("not in the step: more", {**values, "more": values["fc3.bias"]}),
                             ("expected shape", {**values, "fc3.bias": values["fc3.bias"][:3]}),
                             ("expected f32, found float64", {**values, "fc3.bias": values["fc3.bias"].astype("f8")}),
                             ("optimizer.learning_rate", {**values, "step": numpy.array(7), "optimizer.learning_rate": number})):
            with self.assertRaisesRegex(gradus.InvalidError, words):
                self.step.load_state_dict(wrong, strict="optimizer.learning_rate" not in wrong)
            self.assertEqual(self.step.save_checkpoint(), before)
        self.step.load_state_dict({**values, "step": numpy.array(7, "int32")}, strict=False)
        self.assertEqual(self.step.step_count, 7)
        self.assertTrue((self.step["fc3.weight"] == values["fc3.weight"]).all())

    def test_a_state_without_axes_is_written(self):
        self.step["step"] = 5
        self.assertEqual(self.step.step_count, 5)

    def test_numbers_of_the_recipe_are_set(self):
        import gradus

        self.step.set("optimizer.learning_rate", 0.0)
        weight = self.step.state_dict()["fc3.weight"]
        self.step(*self.batch)
        self.assertTrue((self.step["fc3.weight"] == weight).all())
        self.assertEqual(self.step.get("optimizer.learning_rate"), 0.0)
        with self.assertRaisesRegex(gradus.InvalidError, "^the step has no number optimizer.rate; it has optimizer.learning_rate, "):
            self.step.set("optimizer.rate", 1.0)
        with self.assertRaisesRegex(gradus.InvalidError, "has no number fc1.weight"):
            self.step.get("fc1.weight")
        with self.assertRaises(gradus.InvalidError):
            self.step.set("optimizer.learning_rate", -1.0)
        with self.assertRaisesRegex(KeyError, "did you mean 'fc1.weight'"):
            self.step["fc1.weigth"]

    def test_names_are_completed_where_they_are_typed(self):
        out = self.step(*self.batch)
        self.assertLessEqual({"loss", "accuracy", "keys"}, set(dir(out)))
        self.assertEqual(out._ipython_key_completions_(), ["loss", "accuracy"])
        self.assertIn("fc1.weight", self.step._ipython_key_completions_())
        with self.assertRaisesRegex(AttributeError, r"no output is called 'acuracy'; there are \['loss', 'accuracy'\]"):
            out.acuracy

    def test_what_a_library_does_not_lend_is_refused_by_name(self):
        import gradus

        class Array:
            def __dlpack__(self):
                raise BufferError("it is elsewhere")

        with self.assertRaisesRegex(gradus.InvalidError, 'input "image": expected an array of f32.32,1,28,28. .* Array .* it is elsewhere'):
            self.step(Array(), self.batch[1])
        with self.assertRaisesRegex(gradus.InvalidError, 'input "image": .* ndarray .* says'):
            self.step(self.batch[0].astype("datetime64[s]"), self.batch[1])

    def test_a_size_that_is_missing_is_asked_for_by_its_keyword(self):
        import gradus

        with self.assertRaisesRegex(gradus.CompileError, r'unknown size: batch. Say, for example, dims={"batch": 32}, or '):
            gradus.compile(MODEL, cache=False)

    def test_a_step_is_shown_in_a_line(self):
        self.assertEqual(repr(self.step), "<gradus.Step lenet(image f32[32, 1, 28, 28], label i64[32]) -> loss, accuracy; 61,706 parameters>")

    def test_checkpoints_go_on_to_the_bit(self):
        import gradus

        for seed in range(5):
            self.step(*batch(seed))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "state.safetensors")
            self.step.save_checkpoint(path)
            memory = self.step.save_checkpoint()
            losses = [self.step(*batch(seed)).loss for seed in range(5, 9)]
            for source in (path, memory):
                with gradus.load(artifact(), threads=1, state=source) as other:
                    self.assertEqual([other(*batch(seed)).loss for seed in range(5, 9)], losses)
                    self.assertEqual(other.save_checkpoint(), self.step.save_checkpoint())
            with self.assertRaises(gradus.InvalidError):
                self.step.resume(memory[:-100])

    def test_a_saved_step_is_the_tools(self):
        import gradus

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "lenet.gradus")
            self.step(*self.batch)
            self.step.save(path)
            with open(path, "rb") as saved, open(artifact(), "rb") as original:
                self.assertEqual(saved.read(), original.read())
            with gradus.load(path, state=os.path.join(folder, "lenet.safetensors"), threads=1) as other:
                self.assertEqual(other.step_count, 1)
                self.assertEqual(other(*self.batch).loss, self.step(*self.batch).loss)
            with self.assertRaisesRegex(gradus.InvalidError, "ends in .gradus"):
                self.step.save(os.path.join(folder, "lenet.onnx"))


class Narrow:
    """A session that has one bf16 parameter, and keeps what is written to it."""

    closed = False

    def __init__(self, values):
        import numpy

        self.bits = numpy.asarray(values, numpy.float32).view(numpy.uint32).__rshift__(16).astype(numpy.uint16)

    def graphs(self):
        return ()

    def states(self):
        return [(("w", "bf16", (2,)), "parameter")]

    def read(self, name):
        return self.bits

    def write(self, name, array):
        self.bits = memoryview(array).tolist()  # fails for what has no buffer


@needs_package
class Bf16(unittest.TestCase):
    def setUp(self):
        from gradus import Step

        self.session = Narrow([1.0, -2.0])
        self.step = Step(self.session, None)

    def test_numbers_are_rounded_to_the_nearest(self):
        self.step["w"] = [0.5, 1 + 3 * 2**-8]  # the second is between two numbers, of which the larger one is even
        self.assertEqual(self.session.bits, [0x3F00, 0x3F82])
        self.step["w"] = [float("nan"), float("-inf")]
        self.assertEqual(self.session.bits, [0x7FC0, 0xFF80])

    def test_what_is_copied_can_be_loaded(self):
        self.step.load_state_dict(self.step.state_dict())
        self.assertEqual(self.session.bits, [0x3F80, 0xC000])

    def test_a_bf16_array_of_another_library_is_taken_by_its_bits(self):
        import numpy

        class Array:
            """Bits with a type that has no buffer, as those of ml_dtypes."""

            class dtype:
                name = "bfloat16"

            def view(self, dtype):
                return numpy.array([0x3F80, 0x4000], dtype)

        class Given(Array):
            __array_interface__ = None

        self.step["w"] = Given()
        self.assertEqual(self.session.bits, [0x3F80, 0x4000])

    def test_tensors_get_and_give_numbers(self):
        try:
            import torch
        except ImportError as error:
            self.skipTest(str(error))
        module = torch.nn.Module()
        for dtype in (torch.float32, torch.bfloat16):
            module.w = torch.nn.Parameter(torch.zeros(2, dtype=dtype))
            self.session.bits = Narrow([1.0, -2.0]).bits
            self.step.copy_to(module)
            self.assertEqual(module.w.tolist(), [1.0, -2.0])
        self.step.load_state_dict({"w": module.w * 2})
        self.assertEqual(self.session.bits, [0x4000, 0xC080])
        module.w = torch.nn.Parameter(torch.zeros(1))
        with self.assertRaisesRegex(ValueError, "is of shape"):
            self.step.copy_to(module)


@needs_package
class Life(unittest.TestCase):
    def load(self, **options):
        import gradus

        step = gradus.load(artifact(), threads=1, **options)
        self.addCleanup(step.close)
        return step

    def test_a_closed_step_says_so(self):
        import gradus

        with self.load() as step:
            self.assertIn("image f32[32, 1, 28, 28]", repr(step))
        for call in (lambda: step(*batch()), lambda: step["fc1.weight"], lambda: step.save("x.gradus"), lambda: step.recipe,
                     step.save_checkpoint, step.reset, step.ir, lambda: step.fit(batch())):
            with self.assertRaisesRegex(gradus.InvalidError, "was closed"):
                call()
        self.assertIn("closed", repr(step))
        step.close()

    def test_a_step_is_not_pickled_or_copied(self):
        step = self.load()
        for function in (pickle.dumps, copy.copy, copy.deepcopy):
            with self.assertRaisesRegex(TypeError, "load"):
                function(step)

    def test_artifacts_that_are_none_are_refused(self):
        import gradus

        for words, source in (("artifact", b""), ("artifact", b"\0" * 100), ("such.gradus", os.path.join("no", "such.gradus")),
                              ("step_test.py: .*artifact", __file__)):
            with self.assertRaisesRegex(gradus.InvalidError, words):
                gradus.load(source)

    def test_what_runs_is_what_is_saved(self):
        from unittest import mock

        import gradus
        from gradus import _core, _step

        with open(artifact(), "rb") as file:
            data = bytearray(file.read())
        with tempfile.TemporaryDirectory() as folder:
            path, saved = os.path.join(folder, "step.bin"), os.path.join(folder, "saved.gradus")
            with gradus.load(data) as step:  # a buffer that is written to later
                expected, data[:4] = bytes(data), b"gone"
                step.save(saved, state=False)
                with open(saved, "rb") as file:
                    self.assertEqual(file.read(), expected)

            def replaced(*arguments):
                """Loads, after another file took the name the first time."""
                if not os.path.exists(path + ".old"):
                    os.rename(path, path + ".old")
                    os.rename(path + ".new", path)
                return _core.load(*arguments)

            for name, content in ((path, b"other"), (path + ".new", expected)):
                with open(name, "wb") as file:
                    file.write(content)
            with mock.patch.object(_step, "_core", mock.Mock(load=replaced)), gradus.load(path) as step:
                step.save(saved, state=False)
                self.assertIn("gradus.graph", step.ir("gradients"), "the name does not say what the file is")
            with open(saved, "rb") as file:
                self.assertEqual(file.read(), expected)

    def test_an_artifact_without_training_says_so(self):
        import gradus

        class Session:
            closed = False

            def graphs(self):
                return ("predict",)

        step = gradus.Step(Session(), None)
        for call in (step, lambda: step(*batch()), lambda: step({"image": 1}), lambda: step(image=1)):
            with self.assertRaisesRegex(gradus.InvalidError, 'no graph "train"'):
                call()

    def test_batches_that_did_not_run_are_given_back(self):
        step = self.load()

        def broken():
            for seed in range(7):
                yield batch(seed)
            raise OSError("the disk is gone")

        with self.assertRaises(OSError) as raised:
            step.steps(broken(), window=3)
        outputs, left = raised.exception.outputs, raised.exception.left
        self.assertEqual((len(outputs), len(left), step.step_count), (6, 1, 6))
        self.assertTrue((left[0][0] == batch(6)[0]).all())

    def test_the_state_is_in_memory_once(self):
        step = self.load()
        names = [name for name, (role, _, _) in step.states.items() if role in ("parameter", "slot")]
        views = {name: step[name] for name in names}
        again = {name: step[name].ctypes.data for name in names}
        step(*batch())
        self.assertEqual({name: view.ctypes.data for name, view in views.items()}, again)
        self.assertEqual({name: step[name].ctypes.data for name in names}, again)
        self.assertTrue(all((views[name] == step.state_dict().get(name, views[name])).all() for name in names))

    def test_two_steps_run_in_two_threads(self):
        steps = [self.load(), self.load()]
        losses = [[], []]

        def train(number):
            for seed in range(30):
                losses[number].append(steps[number](*batch(seed)).loss)

        threads = [threading.Thread(target=train, args=(number,)) for number in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(losses[0]), 30)
        self.assertEqual(losses[0], losses[1])

    def test_a_second_thread_in_one_step_is_refused(self):
        import gradus

        step, refused = self.load(), []
        begun = threading.Event()
        queue = [batch(seed) for seed in range(64)] * 8
        queue[-1] = (Telling(queue[-1][0], begun.set), queue[-1][1])

        def run():
            try:
                step.steps(queue, window=len(queue))
            except gradus.CancelledError:
                refused.append("cancelled")

        thread = threading.Thread(target=run)
        thread.start()
        begun.wait()
        while thread.is_alive() and not refused:
            try:
                step.step_count
            except gradus.InvalidError as error:
                refused.append(str(error))
        step.cancel()
        thread.join()
        self.assertIn("in use by another thread", refused[0])
        self.assertEqual(refused[1:], ["cancelled"])
        before = step.step_count
        step(*batch())
        self.assertEqual(step.step_count, before + 1)

    def test_ctrl_c_ends_a_queue_between_steps(self):
        step = self.load()
        queue = [batch(seed) for seed in range(64)] * 100
        begun = threading.Event()
        queue[-1] = (Telling(queue[-1][0], begun.set), queue[-1][1])
        killer = threading.Thread(target=lambda: begun.wait() and os.kill(os.getpid(), signal.SIGINT))
        killer.start()
        with self.assertRaises(KeyboardInterrupt) as raised:
            step.steps(queue, window=len(queue))
        killer.join()
        done = raised.exception.outputs
        self.assertEqual(len(done), step.step_count)
        self.assertLess(len(done), len(queue))
        self.assertEqual(len(raised.exception.left), len(queue) - len(done))
        step.reset()
        self.assertEqual([out.loss for out in step.steps(queue[: len(done)])], [out.loss for out in done])

    def test_a_child_of_fork_is_told(self):
        step = self.load()
        step(*batch())
        code = os.fork()
        if code == 0:
            try:
                step(*batch())
            except ValueError:
                os._exit(7)
            os._exit(1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(code, 0)[1]), 7)
        step(*batch())


if __name__ == "__main__":
    unittest.main()
