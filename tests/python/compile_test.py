"""Compiling from Python: what is given, what is refused, and what is kept."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package import MODEL, RECIPE, batch, digits, environment, needs_package  # noqa: E402


def recipe():
    with open(RECIPE) as file:
        return json.load(file)


def protobuf(field, content):
    """A field of protobuf that has a length."""
    length, sizes = len(content), b""
    while length > 0x7F:
        sizes, length = sizes + bytes([length & 0x7F | 0x80]), length >> 7
    return bytes([field << 3 | 2]) + sizes + bytes([length]) + content


def external(location, in_order=True):
    """The bytes of an ONNX model with one tensor in a file."""
    entry = [protobuf(1, b"location"), protobuf(2, os.fsencode(location))]
    return protobuf(7, protobuf(5, protobuf(8, b"w") + protobuf(13, b"".join(entry if in_order else entry[::-1]))))


@needs_package
class DataFiles(unittest.TestCase):
    """What the cache knows of an ONNX model's data files."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, content):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def key(self, *models):
        from gradus import _cache

        return _cache.key({"model": (self.write("model.onnx", b"".join(models)), None)})

    def test_each_is_part_of_the_key(self):
        for location in ("m.data", "m" * 200):
            for in_order in (True, False):
                keys = set()
                for content in (b"first", b"second"):
                    self.write(location, content)
                    keys.add(self.key(external(location, in_order)))
                os.unlink(os.path.join(self.folder.name, location))
                keys.add(self.key(external(location, in_order)))
                self.assertEqual(len(keys), 3, location)
                self.assertNotIn(None, keys)

    def test_each_is_read_once(self):
        from gradus import _onnx_files

        self.write("m.data", b"weights")
        with mock.patch.object(_onnx_files, "_hash", return_value="0") as read:
            self.key(*[external("m.data")] * 40)
        self.assertEqual(read.call_count, 1)

    def test_what_the_compiler_refuses_is_not_opened(self):
        os.mkfifo(os.path.join(self.folder.name, "pipe"))
        for location in ("/dev/zero", "../m.data", "pipe", ".", "", "m\0data"):
            self.assertIsNone(self.key(external(location)), location)

    def test_bytes_that_cannot_be_read_are_not_kept(self):
        from gradus import _cache

        for model in (external("m.data")[:-3], b"\xff" * 20, b"\x0b"):
            self.assertIsNone(self.key(model))
        self.assertIsNone(_cache.key({"model": (None, external("m.data"))}), "bytes have no folder")
        self.assertIsNotNone(_cache.key({"model": (None, b"module {}")}))

    def test_a_models_link_leads_to_its_files(self):
        inner = os.path.join(self.folder.name, "inner")
        os.mkdir(inner)
        self.write("inner/model.onnx", external("m.data"))
        os.symlink(os.path.join(inner, "model.onnx"), os.path.join(self.folder.name, "link.onnx"))
        from gradus import _cache

        keys = set()
        for content in (b"first", b"second"):
            self.write("inner/m.data", content)
            keys.add(_cache.key({"model": (os.path.join(self.folder.name, "link.onnx"), None)}))
        self.assertEqual(len(keys), 2)


SQUARES = b"""
gradus.program @squares {
  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, value = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>}
  gradus.graph @train(%coefficient: tensor<3xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<3xf32>
    %square = arith.mulf %w, %w : tensor<3xf32>
    %part = arith.mulf %coefficient, %square : tensor<3xf32>
    %loss = gradus.reduce sum %part axes [0] : tensor<3xf32> -> tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}"""


def tensors(**arrays):
    """The bytes of a .safetensors file of float32 arrays."""
    import numpy

    header, data = {}, b""
    for name, array in arrays.items():
        array = numpy.asarray(array, "float32")
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


@needs_package
class Files(unittest.TestCase):
    """Files that options and the recipe name."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, content):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def test_a_basis_is_a_file_or_bytes(self):
        import numpy

        import gradus

        content = tensors(w=[[0.6, 0, 0.8]])
        path = self.write("basis.safetensors", content)
        for options in ({"dim_reduce": {"basis": path}}, {"dim_reduce": path}, {"set": {"dim_reduce.basis": path}},
                        {"recipe": {"dim_reduce": {"basis": path}}},
                        {"recipe": json.dumps({"dim_reduce": {"basis": path}}).replace("_", "\\u005f", 1)}, {"dim_reduce": "elsewhere", "basis": content},
                        {"dim_reduce": "elsewhere", "basis": path}):
            with gradus.compile(SQUARES, optimizer="sgd", **options) as step:
                self.assertEqual(step["dim_reduce/basis/w"].astype("f8").round(4).tolist(), [[0.6, 0, 0.8]], options)
                step(numpy.ones(3, "float32"))
        # What the file is by then counts, and not what a cache kept of it.
        self.write("basis.safetensors", tensors(w=[[1, 1, 0]]))
        for options in ({"dim_reduce": path}, {"set": {"dim_reduce.basis": path}}):
            with self.assertRaisesRegex(gradus.CompileError, "dim_reduce.basis .*: its rows are not orthonormal"):
                gradus.compile(SQUARES, optimizer="sgd", **options)
        with self.assertRaisesRegex(gradus.InvalidError, "basis: it is given, but the recipe's dim_reduce.basis names no file"):
            gradus.compile(SQUARES, optimizer="sgd", basis=content)
        with self.assertRaisesRegex(gradus.InvalidError, "basis: expected a path or bytes; found int"):
            gradus.compile(SQUARES, optimizer="sgd", basis=3)

    def test_a_basis_is_of_one_call(self):
        """Whatever another call had, also one that failed."""
        import gradus

        def basis(*row, **options):
            with gradus.compile(SQUARES, optimizer="sgd", dim_reduce="elsewhere", **options, **({"basis": tensors(w=[row])} if row else {})) as step:
                return step["dim_reduce/basis/w"].astype("f8").round(4).tolist()[0]

        self.assertEqual(basis(0.6, 0, 0.8), [0.6, 0, 0.8])
        self.assertEqual(basis(0, 1, 0), [0, 1, 0])
        with self.assertRaisesRegex(gradus.CompileError, "^basis: its rows are not orthonormal"):
            basis(1, 1, 0)
        self.assertEqual(basis(0, 0, 1), [0, 0, 1])
        with self.assertRaisesRegex(gradus.CompileError, "^recipe: dim_reduce.basis elsewhere: elsewhere: cannot open"):
            basis()
        with self.assertRaisesRegex(gradus.InvalidError, "^nowhere: there is no such file"):
            gradus.compile(SQUARES, optimizer="sgd", dim_reduce="elsewhere", basis="nowhere")

    def test_what_is_no_file_is_refused(self):
        """A pipe that nobody writes would be waited for, and /dev/zero does not end."""
        import gradus

        signal.alarm(120)
        self.addCleanup(signal.alarm, 0)
        pipe = os.path.join(self.folder.name, "pipe")
        os.mkfifo(pipe)
        weights = tensors(w=[4, 5, 6])
        for bad in (pipe, "/dev/zero", self.folder.name):
            given = [(bad, {"recipe": bad}), (bad, {"weights": bad}), (bad, {"weights": weights, "weights_map": bad}),
                     (bad, {"dim_reduce": "elsewhere", "basis": bad}), (bad, {"dim_reduce": bad}), (bad, {"targets": "emulated", "tuning": bad})]
            for ending in ("", ".onnx", ".mlir", ".gradus"):
                link = os.path.join(self.folder.name, f"link{len(os.listdir(self.folder.name))}{ending}")
                os.symlink(bad, link)
                given.append((link, {"model": link}))
            for path, options in given:
                for cache in (False, True):
                    with self.subTest(**options, cache=cache), self.assertRaisesRegex(gradus.InvalidError, f"{path}: is not a file$"):
                        gradus.compile(**{"model": SQUARES, "optimizer": "sgd", "cache": cache, **options})

    def test_names_of_weights_are_mapped(self):
        import gradus

        weights = tensors(**{"module.w": [4, 5, 6], "head": [1]})
        rules = {"module.*": "*", "head": None}
        path = self.write("names.json", json.dumps(rules).encode())
        for given in (rules, path, ["module.*=*", "head="]):
            with gradus.compile(SQUARES, optimizer="sgd", weights=weights, weights_map=given) as step:
                self.assertEqual(step["w"].tolist(), [4, 5, 6])
        with self.assertRaisesRegex(gradus.CompileError, r"weights-map modul\.\*=: no tensor of the weights fits"):
            gradus.compile(SQUARES, optimizer="sgd", weights=weights, weights_map={"modul.*": None})

    def test_options_of_gpus_are_the_command_lines(self):
        import gradus

        tuning = self.write("card.json", b'{"format": 1, "card": "a card", "choices": []}')
        gradus.compile(SQUARES, optimizer="sgd", targets=["emulated", "cpu"], epilogues="bias", tuning=tuning).close()
        for words, options in (("expected all, bias or none", {"epilogues": "some"}), ("names.json: cannot be read", {"tuning": ["names.json"]}),
                               ("epilogues: is given 2 times", {"epilogues": ["all", "bias"]})):
            with self.assertRaisesRegex(gradus.CompileError, words):
                gradus.compile(SQUARES, optimizer="sgd", targets=["emulated", "cpu"], **options)


@needs_package
class Compile(unittest.TestCase):
    def test_models_and_recipes_come_in_all_forms(self):
        import gradus

        with open(MODEL, "rb") as file:
            model = file.read()
        with digits() as step:
            expected = step(*batch()).loss
        text = json.dumps(recipe())
        given = recipe()
        rest = {key: given.pop(key) for key in ("loss", "optimizer", "metrics")}
        for source, options in ((model, {"recipe": RECIPE}), (memoryview(model), {"recipe": text}), (MODEL, {"recipe": recipe()}),
                                (MODEL, {"recipe": given, **rest}), (model, {"dims": {"batch": 32}, **rest})):
            with gradus.compile(source, cache=False, **options) as step:
                self.assertEqual(step(*batch()).loss, expected)

    def test_keys_are_set_over_the_recipe(self):
        with digits(set={"optimizer.learning_rate": 0.5}, precision="f32", clip_grad_norm=2.0) as step:
            self.assertEqual(step.get("optimizer.learning_rate"), 0.5)
            self.assertEqual(step.recipe["clip"]["value"], 2.0)
            self.assertEqual(step.metadata("artifact.classes"), 10)

    def test_errors_are_the_compilers(self):
        import gradus

        for words, options in (("loss.type: unknown value .* did you mean", {"loss": "softmax_cross_entrpy"}),
                               ("unknown key", {"set": {"optimizr": 1}}), ("is no JSON", {"recipe": "{"}),
                               ("expected a dictionary", {"set": "a=1"}), ("recipe: expected a dictionary", {"recipe": 3}),
                               ("torch.nn.Module", {"example": 1})):
            with self.assertRaisesRegex(ValueError, words):
                gradus.compile(MODEL, cache=False, **{"recipe": RECIPE, **options})
        with self.assertRaisesRegex(gradus.CompileError, "batch") as raised:
            gradus.compile(MODEL, cache=False)
        self.assertIn("error", [said.severity for said in raised.exception.diagnostics])
        for words, model in (("model: it has no bytes", b""), ("custom op 'nothing' is unknown", b"nothing"), ("expected a path or bytes", 3), ("no_such.onnx", "no_such.onnx")):
            with self.assertRaisesRegex(gradus.InvalidError, words):
                gradus.compile(model, cache=False)

    def test_no_keyword_is_dropped(self):
        import gradus

        for key in ("example", "labels", "inputs", "outputs", "dynamic"):
            with self.assertRaisesRegex(gradus.InvalidError, f"{key}= belongs to a torch.nn.Module"):
                digits(**{key: ["x"]})
        for key, value in (("label", "y"), ("output", "y"), ("soft_labels", True), ("interval", "epoch"), ("schedule_steps", 3)):
            with self.assertRaisesRegex(gradus.NotExpressible, f"{key}={value!r} is given without a "):
                gradus.compile(SQUARES, recipe={"optimizer": {"type": "sgd"}}, **{key: value})
        with gradus.compile(SQUARES, recipe={"optimizer": {"type": "sgd"}, "metrics": ["gradient_norm"]}, metrics=[]) as step:
            self.assertEqual(step.recipe["metrics"], [])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "squares.gradus")
            with gradus.compile(SQUARES, optimizer="sgd") as step:
                step.save(path, state=False)
            with open(path, "rb") as file:
                whole = file.read()
            gradus.compile(path, deterministic=True).close()
            for model in (path, whole):
                for options in ({"optimizer": "adamw"}, {"recipe": {"seed": 3}}, {"ema": 0.9}, {"set": {"seed": 3}}, {"dims": {"n": 3}},
                                {"weights": tensors(w=[1, 2, 3])}, {"initialize": "zeros"}, {"basis": tensors(w=[1, 0, 0])}):
                    with self.subTest(**options), self.assertRaisesRegex(gradus.InvalidError, "is an artifact, whose recipe and weights are settled"):
                        gradus.compile(model, **options)

    def test_the_ir_is_text_at_each_stage(self):
        with digits() as step:
            self.assertIn("gradus.update", step.ir("gradients"))
            self.assertNotIn("gradus.update", step.ir("update"))
            with self.assertRaisesRegex(ValueError, "unknown stage|stage"):
                step.ir("nowhere")

    def test_a_step_is_compiled_once_for_its_content(self):
        import gradus

        with tempfile.TemporaryDirectory() as folder:
            os.environ["GRADUS_CACHE"] = folder
            self.addCleanup(os.environ.pop, "GRADUS_CACHE")
            for expected, options in ((1, {}), (1, {}), (2, {"set": {"optimizer.learning_rate": 0.1}}), (2, {})):
                with gradus.compile(MODEL, recipe=RECIPE, **options):
                    pass
                found = [name for name in os.listdir(folder) if name.endswith(".gradus")]
                self.assertEqual(len(found), expected)
            for name in found:  # one that is damaged is made anew
                with open(os.path.join(folder, name), "r+b") as file:
                    file.truncate(1000)
            with gradus.compile(MODEL, recipe=RECIPE) as step:
                step(*batch())
            os.environ["GRADUS_CACHE_LIMIT"] = "1"
            self.addCleanup(os.environ.pop, "GRADUS_CACHE_LIMIT")
            with gradus.compile(MODEL, recipe=RECIPE, set={"optimizer.learning_rate": 0.3}) as step:
                self.assertEqual(len([name for name in os.listdir(folder) if name.endswith(".gradus")]), 1)
                for name in os.listdir(folder):
                    os.unlink(os.path.join(folder, name))
                step.save(os.path.join(folder, "saved.gradus"))
                self.assertIn("gradus.graph", step.ir("gradients"))

    def test_an_artifact_that_another_process_removes_is_done_without(self):
        import gradus
        from gradus import _cache, _step

        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, GRADUS_CACHE=folder):
            load = _step.load

            def removed(path, **options):
                if path.startswith(folder):
                    os.unlink(path)
                return load(path, **options)

            with mock.patch.object(_step, "load", removed):
                for _ in range(2):  # right after it was kept
                    gradus.compile(MODEL, recipe=RECIPE).close()
            gradus.compile(MODEL, recipe=RECIPE).close()
            with mock.patch.object(_step, "load", removed):  # and after it was found
                gradus.compile(MODEL, recipe=RECIPE).close()
            self.assertEqual([name for name in os.listdir(folder) if name.endswith(".gradus")], [])
            self.assertIsNotNone(_cache.key({"model": (MODEL, None)}))

    def test_a_model_that_is_written_while_it_is_compiled_is_not_kept(self):
        import gradus
        from gradus import _compile

        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, GRADUS_CACHE=os.path.join(folder, "cache")):
            path, run = os.path.join(folder, "model.onnx"), _compile._run
            shutil.copy(MODEL, path)

            def written(options):
                made = run(options)
                with open(path, "ab") as file:
                    file.write(protobuf(2, b"producer"))
                return made

            with mock.patch.object(_compile, "_run", written):
                gradus.compile(path, recipe=RECIPE).close()
            self.assertEqual(os.listdir(os.path.join(folder, "cache")), [])

    def test_what_killed_processes_left_is_removed(self):
        from gradus import _cache

        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, GRADUS_CACHE=folder):
            for name in ("old.gradus-partial", "new.gradus-partial"):
                with open(os.path.join(folder, name), "wb"):
                    pass
            os.utime(os.path.join(folder, "old.gradus-partial"), (1, 1))
            with _cache.written("whole") as path:
                self.assertEqual(_cache.keep("whole", path, []), os.path.join(folder, "whole.gradus"))
            with _cache.written("other") as path:
                self.assertTrue(path.startswith(os.path.join(folder, "other.gradus.")))
            self.assertEqual(sorted(os.listdir(folder)), ["new.gradus-partial", "whole.gradus", "whole.json"])

    def test_where_the_cache_has_no_room_it_is_compiled_elsewhere(self):
        import gradus
        from gradus import _cache, _compile

        whole, run, runs = _cache._empty_file, _compile._run, []

        def full(name):
            path = whole(name)
            os.unlink(path)
            os.symlink("/dev/full", path)
            return path

        def counted(options):
            runs.append(options["artifact"])
            return run(options)

        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, GRADUS_CACHE=folder), \
                mock.patch.object(_cache, "_empty_file", full), mock.patch.object(_compile, "_run", counted):
            with mock.patch.object(_cache, "has_room", return_value=False), gradus.compile(MODEL, recipe=RECIPE) as step:
                step(*batch())
            self.assertEqual((len(runs), os.listdir(folder)), (2, []))
            with self.assertRaises(gradus.FailedError):
                gradus.compile(MODEL, recipe=RECIPE)
            self.assertEqual((len(runs), os.listdir(folder)), (3, []), "what fails for another reason is compiled once")

    def test_a_cache_that_cannot_be_written_is_done_without(self):
        import gradus

        os.environ["GRADUS_CACHE"] = os.path.join(MODEL, "no_folder")
        self.addCleanup(os.environ.pop, "GRADUS_CACHE")
        with gradus.compile(MODEL, recipe=RECIPE) as step:
            step(*batch())

    def test_the_key_has_what_the_compiler_is(self):
        from gradus import _cache, _core

        def key(**options):
            return _cache.key({"model": (MODEL, None), **options})

        first = key()
        self.assertEqual(key(), first)
        self.assertEqual(key(extra=["kernel-cache=/elsewhere"]), first, "it changes no byte")
        self.assertNotEqual(key(threads=3), first)
        with mock.patch.dict(os.environ, ONEDNN_MAX_CPU_ISA="SSE41"):
            self.assertNotEqual(key(), first)
        with mock.patch.dict(os.environ, GRADUS_CUDA_TOOLKIT="/nowhere"):
            self.assertNotEqual(key(), first)
        with mock.patch.dict(os.environ, GRADUS_COMPILER_LIBRARY="/nowhere/compiler.so"):
            with self.assertRaisesRegex(RuntimeError, "/nowhere/compiler.so"):
                key()
        self.assertIn("compiler: ", _core.compiler_identity())

    def test_warnings_are_pythons(self):
        import gradus

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with digits(targets=["cpu", "cpu"]) as step:
                said = [str(each) for each in step.diagnostics if each.severity == "warning"]
        self.assertIn("given twice", said[0])
        with self.assertWarns(gradus.CompileWarning) as warned:
            gradus.compile(MODEL, recipe=RECIPE, cache=False, targets=["cpu", "cpu"]).close()
        self.assertEqual(warned.filename, __file__)
        self.assertEqual([str(each.message) for each in caught if each.category is gradus.CompileWarning], said)

    def test_nothing_heavy_is_imported(self):
        code = ("import sys, gradus; gradus.compile, gradus.Step, gradus.__version__\n"
                "print([name for name in ('numpy', 'torch', 'json.tool', 'asyncio', 'multiprocessing') if name in sys.modules])")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
        self.assertEqual((done.stdout.strip(), done.stderr), ("[]", ""))


if __name__ == "__main__":
    unittest.main()
