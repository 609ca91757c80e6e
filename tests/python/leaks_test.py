"""What the package keeps in memory: nothing of what has ended, and a step's state once."""

import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "bench")]
from onnx_writer import Model  # noqa: E402
from package import MODEL, PRELOADED, RECIPE, TEST, artifact, batch, digits, environment, needs_package, resident  # noqa: E402

MANY = "leaks" in os.environ.get("GRADUS_ONLY", "")  # asked for by name: as many cycles as a long run has


def settled():
    """Bytes in memory after all that is free went back to the system."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return resident()


@needs_package
@unittest.skipIf(PRELOADED, "sanitizers keep what was freed")
class Leaks(unittest.TestCase):
    """Each cycle that leaks, leaks at least some hundred bytes, and a step that is kept a megabyte."""

    def check(self, cycle, warm, cycles, many=None, limit=1 << 20):
        cycles = many if MANY and many else cycles
        for _ in range(warm):
            cycle()
        before = settled()
        for _ in range(cycles):
            cycle()
        grown = settled() - before
        print(f"{self.id().split('.')[-1]}: {cycles} cycles, {grown / 1024:+.0f} KiB", file=sys.stderr)
        self.assertLess(grown, limit, f"bytes more, after {cycles} cycles")

    def step(self):
        import gradus

        step = gradus.load(artifact(), threads=1)
        self.addCleanup(step.close)
        return step

    def test_compiling_and_closing(self):
        self.check(lambda: digits(threads=1).close(), warm=10, cycles=40, many=1000, limit=4 << 20)

    def test_finding_in_the_cache_stepping_and_closing(self):
        import gradus

        def cycle():
            with gradus.compile(MODEL, recipe=RECIPE, threads=1) as step:
                step(*batch())
                step["fc1.weight"][0, 0] = 1.0

        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, GRADUS_CACHE=folder):
            self.check(cycle, warm=50, cycles=300, many=1000)
            self.assertEqual(len(os.listdir(folder)), 2, "the artifact and what was said of it")

    def test_loading_stepping_and_closing(self):
        import gradus

        with open(artifact(), "rb") as file:
            data = file.read()

        def cycle():
            with gradus.load(data, threads=1) as step:
                step(*batch())
                step["fc1.weight"][0, 0] = 1.0

        self.check(cycle, warm=50, cycles=1000, many=10000)

    def test_what_the_compiler_refuses(self):
        import gradus

        wrong = ({"model": MODEL, "recipe": {"los": 1}}, {"model": b"no model"}, {"model": "nowhere.onnx"},
                 {"model": MODEL, "recipe": RECIPE, "targets": ["abacus"]}, {"model": MODEL, "recipe": RECIPE, "weights": b"none"})

        def cycle():
            for arguments in wrong:
                with self.assertRaises(gradus.InvalidError):
                    gradus.compile(cache=False, **arguments)

        self.check(cycle, warm=10, cycles=100, many=1000)

    def test_what_is_refused_once_it_is_planned(self):
        import gradus

        def cycle():
            with self.assertRaisesRegex(gradus.CompileError, "memory_limit"):
                gradus.compile(MODEL, recipe=RECIPE, memory_limit="1 KiB", cache=False)

        self.check(cycle, warm=4, cycles=8, many=200, limit=2 << 20)

    def test_what_a_step_refuses(self):
        import numpy

        step = self.step()
        image, label = batch()
        wrong = ((image,), (image, label, label), (image[:3], label), (image.astype("f8"), label), (label, image), (image, label + 10),
                 (image, object()), ({"image": image},), (image, numpy.full(32, -1, "i4")), (image, "labels"))

        def cycle():
            for arguments in wrong:
                with self.assertRaises((TypeError, ValueError)):
                    step(*arguments)
            for call in (lambda: step["none"], lambda: step.set("no.number", 1), lambda: step.resume(b"none"),
                         lambda: step.load_state_dict({}), lambda: step.predict("x"), lambda: step(*batch()).none):
                with self.assertRaises((AttributeError, KeyError, TypeError, ValueError)):
                    call()

        self.check(cycle, warm=100, cycles=500, many=20000)

    def test_views_that_are_held_and_dropped(self):
        import gradus

        def cycle():
            step = gradus.load(artifact(), threads=1)
            views = [step[name] for name in step.states]
            views += [views[0][:1], views[0].T]
            step.close()
            self.assertEqual(views[0].shape, views[0].copy().shape)
            del step, views

        self.check(cycle, warm=50, cycles=200, many=5000)

    def test_exports_by_dlpack(self):
        import numpy

        step = self.step()

        def cycle():
            for _ in range(100):
                array = step._session.view("fc1.weight")
                array.__dlpack__()  # nobody takes it
                taken = numpy.from_dlpack(array)
                del array
                self.assertEqual(taken.dtype, "float32")
                out = step._graph("predict")
                del taken, out

        self.check(cycle, warm=5, cycles=100, many=1000)

    def test_outputs_and_states_that_are_copied(self):
        step = self.step()

        def cycle():
            outputs = step.steps([batch()] * 10)
            logits = step.predict(batch()[0][:5]).logits
            bits, values = step.save_checkpoint(), step.state_dict()
            step.resume(bits)
            step.load_state_dict(values)
            self.assertEqual((len(outputs), len(logits), len(dict(outputs[0]))), (10, 5, 2))

        self.check(cycle, warm=20, cycles=200, many=5000)

    def test_fits_and_tests(self):
        step, folder = self.step(), tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        image, label = batch(0, 80)
        pieces = [(image[i : i + 32], label[i : i + 32]) for i in range(0, 80, 32)]
        options = {"log": os.path.join(folder.name, "log.jsonl"), "report": os.path.join(folder.name, "run.html")}

        def cycle():
            path = os.path.join(folder.name, "state.safetensors")
            step.reset()
            step.fit((image, label), validation=0.2, best="loss", checkpoint=path, **options)
            step.fit((image, label), validation=0.2, best="loss", checkpoint=path, epochs=2, resume=True, **options)
            step.fit(pieces, eval=pieces, seed=1)
            step.fit(TEST)
            self.assertEqual(len({step.evaluate(each)["accuracy"] for each in ((image, label), pieces)}), 1)
            for name in os.listdir(folder.name):
                os.unlink(os.path.join(folder.name, name))

        self.check(cycle, warm=10, cycles=40, many=1000)

    def test_what_a_fit_refuses(self):
        import gradus
        import numpy
        from gradus import _data

        step = self.step()
        image, label = batch(0, 64)

        def broken():
            yield image[:32], label[:32]
            raise OSError("the disk is gone")

        def cycle():
            for data, options in ((broken(), {}), ((image, label + 10), {}), ((image, label[:9]), {}), ([(image[:32], label[:32].tolist())], {}),
                                  ("nowhere.csv", {}), ((image, label), {"validation": 2.0}), ((image, label), {"patience": 0}),
                                  ((image, label), {"eval": [(image[:32], label[:32] + 10)]})):
                with self.assertRaises((OSError, gradus.InvalidError)):
                    step.fit(data, **options)
            batches = _data.data_set((image, label), step, "train", step._graph("train").inputs, "data").epoch(0, 0)
            shown = numpy.asarray(next(batches)[0])  # which outlives its batches
            del batches
            self.assertEqual(shown.shape, (32, 1, 28, 28))

        self.check(cycle, warm=20, cycles=60, many=2000)


ROWS = 10240  # and columns of a matrix: 400 MiB
WEIGHTS = 4 * ROWS * ROWS

# What a process has in memory, and had at most, from compiling to stepping.
LARGE_STEP = """
import gc, json, sys
import numpy, gradus
from package import resident
gradus.compile(sys.argv[2], **json.loads(sys.argv[3])).close()  # of few numbers: what compiling takes by itself
told = {}
def tell(name):
    gc.collect()
    told[name] = resident()
tell("before")
step = gradus.compile(sys.argv[1], **json.loads(sys.argv[3]))
tell("compiled")
x = numpy.ones((2, step.inputs["x"][1][1]), "f")
step.steps([(x, x)] * 2)
tell("stepped")
view = step["w"]
view[0, 0] = 1
step(x, x)
tell("viewed")
told["memory"] = step.memory
step.close()
tell("closed")
del view
tell("gone")
print(json.dumps(told))
"""


@needs_package
@unittest.skipIf(PRELOADED, "sanitizers have memory of their own")
class Once(unittest.TestCase):
    """A step of a matrix of 400 MiB."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="gradus_large.")
        cls.addClassCleanup(folder.cleanup)
        cls.models = [os.path.join(folder.name, f"{rows}.onnx") for rows in (ROWS, 64)]
        for path, rows in zip(cls.models, (ROWS, 64)):
            net = Model()
            net.weight("w", [rows, rows])
            net.output("y", net.node("MatMul", [net.input("x", [2, rows]), "w"]), [2, rows])
            net.write(path)
        cls.cache = os.path.join(folder.name, "cache")

    def told(self, **options):
        """What a process tells of its bytes."""
        options = {"recipe": {"loss": {"type": "mse"}, "optimizer": {"type": "sgd", "learning_rate": 0.1}}, "threads": 1, **options}
        done = subprocess.run([sys.executable, "-c", LARGE_STEP, *self.models, json.dumps(options)], capture_output=True, text=True,
                              env=environment(GRADUS_CACHE=self.cache), cwd=HERE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def check(self, told):
        """State and arena, and nothing of the model's or the artifact's bytes."""
        self.assertGreaterEqual(told["memory"]["state"], WEIGHTS)
        for when in ("compiled", "stepped", "viewed", "closed"):
            self.assertLess(told[when] - told["before"], told["memory"]["predicted"] + (24 << 20), when)
        self.assertGreater(told["closed"] - told["before"], WEIGHTS, "a view is left")
        self.assertLess(told["gone"] - told["before"], 24 << 20)

    def test_compiled_and_kept(self):
        self.check(self.told())

    def test_compiled_anew(self):
        self.check(self.told(cache=False))


if __name__ == "__main__":
    unittest.main()
