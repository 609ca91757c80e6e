"""`fit` stands on the library of `gradus train`: both read data, decide and write the same."""

import glob
import json
import os
import subprocess
import sys
import types
import unittest
import unittest.mock
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package import BUILD, TEST, TRAIN, WithSteps, arrays, artifact, batch, digits, needs_package  # noqa: E402
from this_build import is_sanitized  # noqa: E402

TOOL = os.path.join(BUILD, "bin", "gradus")


def tensors(path):
    """The states of a checkpoint: what lies behind its header, and where each state lies there."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        header.pop("__metadata__", None)
        return header, file.read()


def lines(path):
    """A log's lines without the times in them."""
    with open(path) as file:
        return [{key: value for key, value in json.loads(line).items() if key != "ms_per_step"} for line in file]


@needs_package
class Training(WithSteps):
    def train(self, path, *options):
        command = [TOOL, "train", path, "--threads", "1", "--checkpoint", self.at("tool.safetensors"), *options]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def assert_as_the_tool(self, path, data, options=(), **fitted):
        """Both end in the same states, and write the same log."""
        self.train(path, *(word for each in data for word in ("--data", each)), "--log", self.at("tool.jsonl"), *options)
        step = self.load(path)
        records = step.fit(list(data), log=self.at("fit.jsonl"), checkpoint=self.at("fit.safetensors"), **fitted)
        self.assertEqual(tensors(self.at("fit.safetensors")), tensors(self.at("tool.safetensors")))
        self.assertEqual(lines(self.at("fit.jsonl")), lines(self.at("tool.jsonl")))
        return records

    def test_a_fit_from_a_file_ends_in_the_bits_of_the_command(self):
        records = self.assert_as_the_tool(artifact(), [TRAIN], ("--eval", TEST, "--epochs", "2", "--seed", "5"), eval=TEST, epochs=2, seed=5)
        self.assertEqual(records[-1]["test"], lines(self.at("tool.jsonl"))[-1]["test"])

    def test_a_part_that_is_held_out_is_the_commands(self):
        import gradus
        import numpy

        records = self.assert_as_the_tool(artifact(), [TRAIN], ("--validation", "0.2", "--epochs", "2", "--seed", "5", "--best", "accuracy"),
                                          validation=0.2, epochs=2, seed=5, best="accuracy")
        self.assertEqual(records[-1]["test"], lines(self.at("tool.jsonl"))[-1]["test"])
        self.assertEqual(tensors(self.at("fit.best.safetensors")), tensors(self.at("tool.best.safetensors")))
        data = arrays(100)
        numpy.savez(self.at("data.npz"), **data)
        expected = self.load().fit(self.at("data.npz"), validation=0.25, epochs=2)
        other = self.load()
        found = other.fit((data["image"], data["label"]), validation=0.25, epochs=2, checkpoint=self.at("a.safetensors"))
        self.assertEqual([(each["step"], each["train"], each["test"]) for each in found],
                         [(each["step"], each["train"], each["test"]) for each in expected])
        self.assertEqual(found[0]["step"], 2, "75 samples are left")
        for words, options in (("give eval=.*, and not both", {"eval": data, "validation": 0.1}), ("between 0 and 1, found 1", {"validation": 1}),
                               ("between 0 and 1, found 0", {"validation": 0.0}), ("trained with validation=0.25, found validation=0.5",
                                                                                  {"validation": 0.5, "checkpoint": self.at("a.safetensors"), "resume": True}),
                               ("trained with validation=0.25, found validation=None", {"checkpoint": self.at("a.safetensors"), "resume": True})):
            with self.assertRaisesRegex(gradus.InvalidError, words):
                self.load().fit(data, **options)
        with self.assertRaisesRegex(gradus.InvalidError, "validation: expected files or arrays of all samples"):
            self.load().fit([batch()], validation=0.1)
        again = other.fit(data, validation=0.25, epochs=3, checkpoint=self.at("a.safetensors"), resume=True)
        self.assertEqual(again[2]["test"], self.load().fit(data, validation=0.25, epochs=3)[2]["test"])

    def test_a_fit_goes_on_from_a_checkpoint_of_the_command(self):
        import gradus

        options = ("--data", TRAIN, "--validation", "0.2", "--seed", "5", "--best", "loss:min")
        fitted = {"validation": 0.2, "seed": 5, "best": "loss:min", "epochs": 3}
        self.train(artifact(), *options, "--epochs", "3", "--log", self.at("whole.jsonl"))
        expected = tensors(self.at("tool.safetensors")), lines(self.at("whole.jsonl"))
        whole = self.load().fit(TRAIN, checkpoint=self.at("whole.safetensors"), **fitted)
        for steps in (36, 50):  # at the end of an epoch, and inside the next
            self.train(artifact(), *options, "--overwrite", "--steps", str(steps), "--log", self.at("log.jsonl"))
            step, path = self.load(), self.at(f"{steps}.safetensors")
            records = step.fit(TRAIN, resume=self.at("tool.safetensors"), checkpoint=path, log=self.at("log.jsonl"), **fitted)
            self.assertEqual([{**each, "seconds": 0} for each in records], [{**each, "seconds": 0} for each in whole[1:]])
            self.assertEqual((tensors(path), lines(self.at("log.jsonl"))), expected)
            for words, given, others in (("trained with seed=5, found seed=6", TRAIN, {"seed": 6}),
                                         ("trained with validation=0.2, found validation=None", TRAIN, {"validation": None}),
                                         ("`gradus train` had 1150 samples in batches of 32 on 1 ranks, found 75 samples", arrays(94), {}),
                                         ("trained with validation=0.2, found validation=None", [batch()], {"validation": None}),
                                         ("shuffled the samples, found shuffle=False", TRAIN, {"shuffle": False})):
                with self.assertRaisesRegex(gradus.InvalidError, words):
                    self.load().fit(given, resume=self.at("tool.safetensors"), checkpoint=self.at("other.safetensors"), **{**fitted, "best": None, **others})

    def test_what_the_command_prepares_otherwise_is_refused(self):
        import gradus

        set_, path = {"inputs.normalize": {"image": {"mean": [0.2], "std": [0.4]}}}, self.at("normalized.gradus")
        with digits(threads=1, set=set_) as step:
            step.save(path, state=False)
        self.train(path, "--data", TRAIN)
        options = {"epochs": 2, "resume": self.at("tool.safetensors")}
        self.assertEqual(len(self.load(path).fit(TRAIN, **options)), 1)
        with self.assertRaisesRegex(gradus.InvalidError, r"inputs.normalize \{'image': .*\}, and this step has \{\}"):
            self.load().fit(TRAIN, **options)
        with self.assertRaisesRegex(gradus.InvalidError, "1437 samples in batches of 32 on 1 ranks, found None samples"):
            self.load().fit([batch()], **options)

    def test_the_command_goes_on_from_a_checkpoint_of_fit(self):
        self.train(artifact(), "--data", TRAIN, "--epochs", "2", "--seed", "5")
        expected = tensors(self.at("tool.safetensors"))
        self.load().fit(TRAIN, seed=5, checkpoint=self.at("fit.safetensors"))
        self.train(artifact(), "--data", TRAIN, "--epochs", "2", "--seed", "5", "--resume", self.at("fit.safetensors"), "--overwrite")
        self.assertEqual(tensors(self.at("tool.safetensors")), expected)

    def test_what_the_recipe_prepares_augments_and_fills_up_is_the_commands_too(self):
        import numpy

        set_ = {"inputs.augment": {"image": {"crop": 2, "flip": True, "resized_crop": {"scale": [0.5, 1]}}}, "seed": 11,
                "inputs.normalize": {"image": {"mean": [0.2], "std": [0.4]}}, "inputs.last_batch": "mask",
                "loss.ignore_index": -1, "accumulation": 2, "schedule": {"learning_rate": [{"type": "cosine", "fraction": 1.0, "final": 0.0}]}}
        path = self.at("mask.gradus")
        with digits(threads=1, set=set_) as step:
            step.save(path, state=False)
        random = numpy.random.default_rng(3)
        numpy.save(self.at("image.npy"), random.integers(0, 256, (70, 28, 28), dtype=numpy.uint8))
        numpy.savez(self.at("label.npz"), label=random.integers(0, 10, 70).astype(numpy.uint8))
        data = ["image=" + self.at("image.npy"), self.at("label.npz")]
        records = self.assert_as_the_tool(path, data, ("--epochs", "3"), epochs=3)
        self.assertEqual([record["step"] for record in records], [3, 6, 9], "the rest of an epoch fills a batch of its own")

    def test_folders_of_images_are_read_and_classes_count_by_name(self):
        import gradus
        import numpy

        random = numpy.random.default_rng(1)
        for folder, names in (("train", "abcdefghij"), ("test", "bj"), ("other", "bz")):
            for name in names:
                os.makedirs(self.at(f"{folder}/{name}"))
                for i in range(4):
                    self.write_png(self.at(f"{folder}/{name}/{i}.png"), random.integers(0, 256, (30, 30), dtype=numpy.uint8))
        self.assert_as_the_tool(artifact(), [self.at("train")], ("--eval", self.at("test")), eval=self.at("test"))
        with self.assertRaisesRegex(gradus.InvalidError, "its folder 'z' is none of the classes of the training data"):
            self.load().fit(self.at("train"), eval=self.at("other"))
        with open(self.at("train/c/2.png"), "r+b") as file:
            file.truncate(30)
        with self.assertRaisesRegex(ValueError, "2.png"):
            self.load().fit(self.at("train"), epochs=2)

    @staticmethod
    def write_png(path, pixels):
        import struct
        import zlib

        def chunk(kind, data):
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

        height, width = pixels.shape
        rows = b"".join(b"\0" + row.tobytes() for row in pixels)
        with open(path, "wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
                       + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))

    def test_arrays_have_the_order_of_files(self):
        import numpy

        data = arrays(100)
        numpy.savez(self.at("data.npz"), **data)
        states = []
        for given in (data, self.at("data.npz")):
            step = self.load()
            step.fit(given, epochs=3, seed=9)
            states.append(step.save_checkpoint())
        self.assertEqual(*states)

    def test_arrays_of_other_layouts_and_types_are_taken(self):
        data = arrays(64)
        first = self.load().fit(data, shuffle=False)[0]["train"]
        other = {"image": data["image"].transpose(0, 1, 3, 2).copy().transpose(0, 1, 3, 2), "label": data["label"].astype(">i4")}
        self.assertEqual(self.load().fit(other, shuffle=False)[0]["train"], first)

    def test_what_is_noted_of_data_is_a_warning(self):
        data = arrays(64)
        with self.assertWarnsRegex(UserWarning, "tensor 'image' is converted from f64 to f32"):
            self.load().fit({**data, "image": data["image"].astype("float64")})

    def test_a_files_test_is_that_of_evaluate(self):
        done = subprocess.run([TOOL, "evaluate", artifact(), "--data", TEST, "--json"], capture_output=True, text=True, check=True)
        told, found = json.loads(done.stdout), self.load().evaluate(TEST)
        self.assertEqual({name: told[name] for name in found}, found)

    def test_a_batch_of_ignored_labels_counts_nothing(self):
        import gradus
        import numpy

        image, label = batch(0, 40)
        none = numpy.full(32, -1)
        with digits(threads=1, set={"loss.ignore_index": -1}) as step:
            whole = step.evaluate((image[32:], label[32:]))
            self.assertEqual(step.evaluate([(image[:32], none), (image[32:], label[32:])]), whole)
            with self.assertRaisesRegex(gradus.InvalidError, "no sample to evaluate"):
                step.evaluate([(image[:32], none)])

    def test_full_batches_of_a_test_count_as_those_of_a_data_set(self):
        import unittest.mock

        import gradus
        import numpy
        from gradus import _data

        image, label = batch(0, 76)
        label[5:20] = -1
        weights = [0.5 + number for number in range(10)]
        for set_ in ({"loss.ignore_index": -1}, {"loss.ignore_index": -1, "loss.class_weights": weights}):
            with digits(threads=1, set=set_) as step:
                pieces = [(image[i : i + 32], label[i : i + 32].astype(kind)) for i, kind in ((0, "int64"), (32, "int32"), (64, "int64"))]
                whole = step.evaluate((image, label))
                self.assertEqual(step.evaluate(pieces), whole)
                with unittest.mock.patch.object(_data, "arrays_set", side_effect=AssertionError):
                    step.evaluate(pieces[:2])
                wider = [(image.astype("float64"), label) for image, label in pieces]
                self.assertEqual(step.evaluate(wider), whole, "numbers are converted as those of a data set")
                self.assertEqual(step.evaluate([*pieces, (image[:3], numpy.full(3, -1))]), whole)
                with self.assertRaisesRegex(gradus.InvalidError, "sample 3 has the label 10"):
                    step.evaluate([(image[:32], numpy.where(numpy.arange(32) == 3, 10, label[:32]))])

    def test_means_of_an_epoch_leave_skipped_gradients_out_and_keep_the_last_rate(self):
        from gradus import _training

        figures = _training.epoch_figures()
        for loss, norm, rate in ((1.0, 2.0, 0.5), (3.0, float("inf"), 0.25)):
            figures.add({"loss": loss, "gradient_norm": norm, "learning_rate": rate})
        self.assertEqual(figures.means(), {"loss": 2.0, "gradient_norm": 2.0, "learning_rate": 0.25})
        again = _training.epoch_figures()
        self.assertTrue(again.restore(figures.to_json()))
        self.assertEqual(again.means(), figures.means())

    def test_a_resumed_log_is_that_of_a_run_that_was_not_stopped(self):
        class Stop:
            steps = 0

            def on_step(self, number, out):
                self.steps += 1
                if self.steps == 7:
                    raise KeyboardInterrupt

        whole = self.load()
        whole.fit(arrays(160), epochs=3, eval=arrays(40, 1), log=self.at("whole.jsonl"))
        options = {"epochs": 3, "eval": arrays(40, 1), "log": self.at("log.jsonl"), "checkpoint": self.at("state.safetensors"),
                   "tensorboard": self.at("events")}
        with self.assertRaises(KeyboardInterrupt):
            self.load().fit(arrays(160), callbacks=Stop(), **options)
        self.assertEqual(lines(self.at("log.jsonl"))[-1]["step"], 7)
        self.load().fit(arrays(160), resume=True, **options)
        self.assertEqual(lines(self.at("log.jsonl")), lines(self.at("whole.jsonl")))
        events = sorted(glob.glob(self.at("events/*tfevents*")))
        self.assertEqual(len(events), 2, "a resumed run writes another file beside the first")
        with open(events[1], "rb") as file:
            self.assertRegex(file.read(), b"(?s)train/loss.*epoch/loss.*test/loss")

    def test_a_second_fit_of_a_step_goes_on_in_its_log(self):
        step, path = self.load(), self.at("log.jsonl")

        def logged():
            return [(("epoch" if "train" in line else "step"), line["step"]) for line in lines(path)]

        step.fit(arrays(64), log=path)
        first = lines(path)
        step.fit(arrays(96, 1), log=path)
        self.assertEqual(lines(path)[:3], first)
        self.assertEqual(logged(), [("step", 1), ("step", 2), ("epoch", 2), ("step", 3), ("step", 4), ("step", 5), ("epoch", 5)])
        step.reset()
        step.fit(arrays(64), log=path, overwrite=True)
        self.assertEqual(lines(path), first, "of a step that has made none it is written anew")

    def test_a_file_that_is_no_log_is_not_written_over(self):
        import gradus

        with open(self.at("notes.txt"), "w") as file:
            file.write("mine\n")
        with self.assertRaisesRegex(gradus.InvalidError, "log .*notes.txt: line 1 is none of a training log"):
            self.load().fit(arrays(64), log=self.at("notes.txt"))
        with open(self.at("notes.txt")) as file:
            self.assertEqual(file.read(), "mine\n")

    def test_a_full_disk_ends_the_log_and_not_the_training(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        with self.assertWarnsRegex(UserWarning, "/dev/full: can be written no more"):
            self.assertEqual(len(self.load().fit(arrays(64), epochs=2, log="/dev/full")), 2)

    def test_a_warning_that_is_an_error_loses_no_checkpoint(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        step, path = self.load(), self.at("state.safetensors")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaisesRegex(UserWarning, "/dev/full: can be written no more"):
                step.fit(arrays(64), epochs=2, log="/dev/full", checkpoint=path)
            other = self.load()
            other.resume(path)
            self.assertEqual(other.save_checkpoint(), step.save_checkpoint())
            self.assertEqual(len(other.fit(arrays(64), epochs=2, checkpoint=path, resume=True)), 2)

    def test_a_warning_of_a_test_comes_once_and_after_the_checkpoint(self):
        import unittest.mock

        from gradus import _fit

        path, evaluate = self.at("state.safetensors"), _fit.evaluate

        def told(step, data, name="evaluate", tell=None):
            tell("18 samples are in none of the figures")
            return evaluate(step, data, name, tell)

        with unittest.mock.patch.object(_fit, "evaluate", told), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.load().fit(arrays(64), eval=arrays(40, 1), epochs=3, report=self.at("run.json"))
            self.assertEqual([(str(each.message), each.filename) for each in caught], [("18 samples are in none of the figures", __file__)])
            warnings.simplefilter("error")
            with self.assertRaisesRegex(UserWarning, "18 samples"):
                self.load().fit(arrays(64), eval=arrays(40, 1), checkpoint=path)
        self.assertTrue(os.path.exists(path))
        with open(self.at("run.json")) as file:
            self.assertEqual([each["text"] for each in json.load(file)["warnings"]], ["18 samples are in none of the figures"])

    def test_what_ended_a_run_counts_more_than_its_last_warnings(self):
        def broken():
            yield from ending()
            raise OSError("the disk is gone")

        def ending():
            yield batch(0)
            os.mkdir(report)

        report = self.at("folder.json")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaisesRegex(OSError, "the disk is gone"):
                self.load().fit(broken(), report=report)
        os.rmdir(report)
        with self.assertWarnsRegex(UserWarning, "folder.json"), self.assertRaisesRegex(OSError, "the disk is gone"):
            self.load().fit(broken(), report=report)
        os.rmdir(report)
        with self.assertRaises(IsADirectoryError):
            self.load().fit(ending(), report=report)

    def test_names_of_files_need_not_be_utf8(self):
        import gradus

        def name(bytes_):
            return self.at(os.fsdecode(bytes_))

        path, data = name(b"\xff.gradus"), arrays(64)
        with self.load() as step:
            step.save(path, state=False)
        options = {"checkpoint": name(b"\xff.safetensors"), "log": name(b"\xff.jsonl"), "report": name(b"\xff.html")}
        step = self.load(path)
        step.fit(data, eval=data, **options)
        records = step.fit(data, epochs=2, eval=data, resume=True, **options)
        self.assertEqual(len(records), 2)
        self.assertIn("?.safetensors", records.report())
        self.assertEqual(set(step.evaluate(data)), {"loss", "accuracy"})
        self.assertLessEqual({path, *options.values()}, {self.at(each) for each in os.listdir(self.folder)})
        with self.assertRaisesRegex(gradus.InvalidError, "ud800.* cannot be written"):
            step.fit(data, checkpoint=self.at("\ud800.safetensors"), resume=True)

    def test_the_report_of_a_run(self):
        step = self.load()
        step.set("optimizer.learning_rate", 0.002)
        records = step.fit(arrays(96), epochs=2, eval=arrays(40, 1), best="loss", checkpoint=self.at("s.safetensors"), report=self.at("run.html"))
        self.assertIsInstance(records, list)
        records.report(self.at("run.json"))
        with open(self.at("run.json")) as file:
            data = json.load(file)
        self.assertEqual((data["format"], data["kind"], data["run"]["ended"]), ("gradus.report", "run", "done"))
        curves = {(curve["of"], curve["name"]): curve["points"] for curve in data["curves"]}
        self.assertEqual(len(curves["step", "loss"]), 6)
        self.assertEqual(curves["test", "loss"], [[3, records[0]["test"]["loss"]], [6, records[1]["test"]["loss"]]])
        self.assertEqual(data["recipe"]["optimizer"]["learning_rate"], step.get("optimizer.learning_rate"))
        self.assertRegex(data["run"]["best"], r"loss [\d.]+ of step \d")
        with open(self.at("run.html")) as file:
            self.assertIn('<script type="application/json" id="data">', file.read())
        self.assertRegex(records._repr_html_(), "^<iframe srcdoc=.*&lt;!DOCTYPE html&gt;")

    def test_the_report_has_what_that_of_the_command_has(self):
        """The page draws both: each key that `gradus train --report` gives it is there."""
        self.train(artifact(), "--data", TRAIN, "--report", self.at("tool.json"))
        self.load().fit(TRAIN, report=self.at("fit.json"))
        with open(self.at("tool.json")) as file, open(self.at("fit.json")) as other:
            told, found = json.load(file), json.load(other)
        self.assertEqual(set(told), set(found))
        for part in ("run", "memory"):
            self.assertEqual(set(told[part]), set(found[part]))
        self.assertEqual([(each["of"], each["name"]) for each in told["curves"] if each["of"] == "epoch"],
                         [(each["of"], each["name"]) for each in found["curves"] if each["of"] == "epoch"])
        self.assertIn("44 batches of 32 an epoch", found["run"]["data_text"])

    def test_a_run_that_fails_has_its_report(self):
        def broken():
            yield batch(0)
            raise OSError("the disk is gone")

        with self.assertRaisesRegex(OSError, "the disk is gone"):
            self.load().fit(broken(), report=self.at("run.json"))
        with open(self.at("run.json")) as file:
            run = json.load(file)["run"]
        self.assertEqual((run["ended"], run["why"], run["steps"]), ("failed", "the disk is gone", 1))

    def test_a_notebook_shows_a_bar(self):
        shown = []

        class Handle:
            def update(self, cell):
                shown.append(cell._repr_html_())

        def display(cell, display_id):
            shown.append(cell._repr_html_())
            return Handle()

        shell = types.SimpleNamespace(kernel=True)
        modules = {"ipykernel": types.ModuleType("ipykernel"), "IPython": types.SimpleNamespace(get_ipython=lambda: shell),
                   "IPython.display": types.SimpleNamespace(display=display)}
        with unittest.mock.patch.dict(sys.modules, modules):
            self.load().fit(arrays(64), epochs=2, eval=arrays(32))
        self.assertRegex(shown[0], r'<pre><progress value="0.500"></progress> epoch 1/2  step 1/2  loss [\d.]+')
        self.assertRegex(shown[-1], r"^<details><summary>1 lines before</summary><pre>epoch 1/2 [^\n]*</pre></details>"
                                    r"<pre>epoch 2/2  loss [\d.]+  accuracy [\d.]+  test  loss [^\n]*</pre>$")

    def test_batches_that_are_gone_say_so(self):
        from gradus import _data

        step = self.load()
        data = _data.data_set(arrays(96), step, "train", step._graph("train").inputs, "data")
        batches = iter(data.epoch(0, 0))
        first = next(batches)
        self.assertEqual(first[0].shape, (32, 1, 28, 28))
        next(batches)
        with self.assertRaisesRegex(ValueError, "released"):
            first[0].tobytes()

    @unittest.skipIf(is_sanitized(), "sanitizers end a process that asks for so much memory")
    def test_an_exception_of_a_library_becomes_one_of_python(self):
        """The extension is C++ with exceptions, and Python's own code can take none."""
        import numpy
        from gradus import _training

        batch = 1 << 58  # samples, of 16 bytes
        outline = {"path": "large", "recipe": {}, "classes": 0,
                   "graphs": [{"name": "evaluate", "inputs": [["x", "f32", [batch, 4], 0], ["count", "i64", [], 0]], "outputs": []}]}
        column = ("x", "f32", numpy.zeros((3, 4), "float32"))
        feed = _training.feed(json.dumps(outline), "evaluate", [column], "arrays", ())
        for _ in range(2):
            with self.assertRaises(MemoryError):
                feed.batches(0, 1, 0, False, 1)

    def test_columns_and_numbers_of_batches_are_checked(self):
        import gradus
        from gradus import _data, _training

        outline = _data.outline(self.load())
        image, label = batch(0, 70)

        def feed(dtype="i64", labels=label):
            return _training.feed(outline, "evaluate", [("image", "f32", image), ("label", dtype, labels)], "arrays", ())

        for words, arguments in (("input 'label': 'i65' is no type of numbers", ("i65",)),
                                 ("numbers of type i64 have 8 bytes, found an array of 4", ("i64", label.astype("int32"))),
                                 ("tensor 'label' has 560 samples, others have 70", ("u8", bytearray(label.astype("int64").tobytes())))):
            with self.assertRaisesRegex(gradus.InvalidError, words):
                feed(*arguments)
        labels = bytearray(label.astype("uint8").tobytes())
        made = feed("u8", labels)
        self.assertEqual([made.share(number) for number in range(3)], [(32.0, 32.0), (32.0, 32.0), (6.0, 6.0)])
        for number in (-1, 3, 1 << 62):
            with self.assertRaisesRegex(gradus.InvalidError, rf"batch {number}: the test has 3 batches, counted from 0"):
                made.share(number)
        for first, end, threads, words in ((-1, 2, 1, "batches -1 up to 2: expected two numbers in order, from 0"), (2, 1, 1, "batches 2 up to 1"),
                                           (0, 1 << 62, 1, "up to 4611686018427387904"), (0, 1, 0, "0 threads: expected 1 to"),
                                           (0, 1, 1 << 30, "1073741824 threads")):
            with self.assertRaisesRegex(gradus.InvalidError, words):
                made.batches(first, end, 0, False, threads)
        self.assertEqual(sum(len(each[1]) for each in made.batches(0, 3, 0, False, 1)), 96, "the last one is filled up")

    def test_memory_of_batches_stays_as_long_as_an_array_shows_it(self):
        import numpy
        from gradus import _data

        step = self.load()

        def batches(seed):
            return iter(_data.data_set(arrays(96, seed), step, "train", step._graph("train").inputs, "data", shuffle=False).epoch(0, 0))

        given = batches(0)
        shown = [numpy.asarray(each) for each in next(given)]
        read = [each.copy() for each in shown]
        self.assertFalse(shown[0].flags.writeable)
        del given
        for seed in range(1, 6):
            list(batches(seed))
        numpy.testing.assert_array_equal(shown[0], read[0])
        numpy.testing.assert_array_equal(shown[1], read[1])
        self.assertEqual(shown[0].tobytes(), arrays(96)["image"][:32].tobytes())

    def test_the_rest_fills_a_batch_also_where_the_order_stays(self):
        import numpy

        data = arrays(70)
        rest = numpy.r_[64:70, 0:26]  # filled up with others, whose labels are ignored
        label = data["label"][rest]
        label[6:] = -1
        batches = [(data["image"][i : i + 32], data["label"][i : i + 32]) for i in (0, 32)] + [(data["image"][rest], label)]
        with digits(threads=1, set={"loss.ignore_index": -1, "inputs.last_batch": "mask"}) as step:
            records = step.fit(data, epochs=2, shuffle=False)
            self.assertEqual([record["step"] for record in records], [3, 6])
            bits = step.save_checkpoint()
            step.reset()
            step.fit(batches, epochs=2)
            self.assertEqual(step.save_checkpoint(), bits)

    def test_an_epoch_is_as_long_as_its_batches(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(self.load().fit(arrays(100), shuffle=False)[0]["step"], 3)


if __name__ == "__main__":
    unittest.main()
