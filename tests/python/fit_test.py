"""Training from Python over arrays, files and iterables."""

import json
import math
import os
import re
import signal
import sys
import threading
import unittest
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package import TEST, TRAIN, WithSteps, arrays, batch, digits, needs_package  # noqa: E402


@needs_package
class Fit(WithSteps):
    def setUp(self):
        super().setUp()
        self.checkpoint = self.at("state.safetensors")
        self.step = self.load()

    def test_a_step_shows_the_options_of_fit(self):
        import inspect

        import gradus
        from gradus import _fit

        shown, read = (list(inspect.signature(function).parameters) for function in (gradus.Step.fit, _fit.fit))
        self.assertEqual(shown[1:], read[1:])
        for name in shown[1:]:
            self.assertRegex(gradus.Step.fit.__doc__, rf"(?m)^ +{name} |`{name}`=", "a notebook shows what each option means")

    def test_options_that_mean_nothing_are_refused(self):
        import gradus

        for epochs in ("3", 1.5, -1, True, None):
            with self.assertRaisesRegex(gradus.InvalidError, "epochs: expected a whole number, 0 or more, found"):
                self.step.fit(arrays(64), epochs=epochs)

        class Keras:
            def on_epoch_end(self, record):
                """Is of another library, and never called."""

        for given in (5, Keras(), [print, Keras()]):
            with self.assertRaisesRegex(gradus.InvalidError, "callbacks: .* an object with on_step, on_epoch, on_end; found .* never called"):
                self.step.fit(arrays(64), callbacks=given)

    def test_digits_are_learned_to_97_percent(self):
        records = self.step.fit(TRAIN, epochs=8, eval=TEST)
        self.assertEqual([record["epoch"] for record in records], list(range(1, 9)))
        self.assertGreater(records[-1]["test"]["accuracy"], 0.97)
        self.assertEqual(records[-1]["test"], self.step.evaluate(TEST))
        self.assertLess(records[-1]["train"]["loss"], records[0]["train"]["loss"])

    def test_all_forms_of_a_data_set_train_alike(self):
        data = arrays(100)
        order = [(data["image"][i : i + 32], data["label"][i : i + 32]) for i in range(0, 100, 32)]
        named = [{"label": label, "image": image} for image, label in order]
        weights = []
        for given in (data, (data["image"], data["label"]), order, named, iter(order)):
            step = self.load()
            records = step.fit(given, shuffle=False)
            self.assertEqual(step.step_count, 3, "the last batch is not full")
            weights.append((records[0]["train"], step.save_checkpoint()))
        self.assertTrue(all(each == weights[0] for each in weights))

    def test_the_order_follows_from_the_seed(self):
        losses = {seed: self.load().fit(arrays(96), seed=seed)[0]["train"]["loss"] for seed in (1, 2)}
        self.assertNotEqual(losses[1], losses[2])
        self.assertEqual(self.load().fit(arrays(96), seed=1)[0]["train"]["loss"], losses[1])

    def test_a_stopped_run_goes_on_to_the_bit(self):
        whole = self.step.fit(arrays(160), epochs=4, eval=arrays(50, 1))
        other = self.load()

        class Stop:
            """Ends the run as Ctrl-C does, in the third epoch."""

            steps = 0

            def on_step(self, number, out):
                self.steps += 1
                if self.steps == 13:
                    raise KeyboardInterrupt

        with self.assertRaisesRegex(KeyboardInterrupt, "after step 3 of epoch 3; the state is in"):
            other.fit(arrays(160), epochs=4, eval=arrays(50, 1), checkpoint=self.checkpoint, callbacks=[Stop()])
        third = self.load()
        records = third.fit(arrays(160), epochs=4, eval=arrays(50, 1), checkpoint=self.checkpoint, resume=True)
        self.assertEqual(third.save_checkpoint(), self.step.save_checkpoint())
        for before, after in zip(whole, records):
            self.assertEqual({**before, "seconds": 0}, {**after, "seconds": 0})

    def test_ctrl_c_right_after_a_step_loses_and_repeats_nothing(self):
        whole = self.step.fit(arrays(160), epochs=3, eval=arrays(50, 1))
        for at in (1, 5, 7, 14, 15):
            step, run = self.load(), None
            path = self.at(f"{at}.safetensors")

            def interrupted(*inputs):
                out = run(*inputs)
                if step.step_count == at:
                    os.kill(os.getpid(), signal.SIGINT)  # the state has this step, and nobody has counted it yet
                return out

            run, step._run = step._run, interrupted
            with self.assertRaisesRegex(KeyboardInterrupt, "the state is in"):
                step.fit(arrays(160), epochs=3, eval=arrays(50, 1), checkpoint=path)
            self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
            with open(self.at(f"{at}.fit.json")) as file:
                noted = next(iter(json.load(file).values()))
            self.assertEqual(5 * noted["epoch"] + noted["done"], step.step_count)
            self.assertEqual(step.step_count, at)
            other = self.load()
            self.assert_same_records(whole, other.fit(arrays(160), epochs=3, eval=arrays(50, 1), checkpoint=path, resume=True))
            self.assertEqual(other.save_checkpoint(), self.step.save_checkpoint())

    def assert_same_records(self, records, others):
        self.assertEqual([{**each, "seconds": 0} for each in records], [{**each, "seconds": 0} for each in others])

    def test_ctrl_c_in_the_test_of_an_epoch_keeps_the_epoch(self):
        options = {"epochs": 4, "best": "loss", "patience": 3}
        whole = self.step.fit(arrays(96), eval=arrays(50, 1), checkpoint=self.at("whole.safetensors"), **options)

        class Test:
            """The batches of the test, ended by Ctrl-C the second time that they are asked for."""

            asked = 0

            def __iter__(self):
                self.asked += 1
                if self.asked == 2:
                    os.kill(os.getpid(), signal.SIGINT)
                data = arrays(50, 1)
                return iter([(data["image"][i : i + 32], data["label"][i : i + 32]) for i in (0, 32)])

        with self.assertRaisesRegex(KeyboardInterrupt, "after step 3 of epoch 2"):
            self.load().fit(arrays(96), eval=Test(), checkpoint=self.checkpoint, **options)
        records = self.load().fit(arrays(96), eval=arrays(50, 1), checkpoint=self.checkpoint, resume=True, **options)
        self.assert_same_records(whole, records)

    def test_ctrl_c_between_two_batches_of_the_test_keeps_the_epoch(self):
        """Nothing but the loop over the batches holds them: they are freed while the exception is on its way."""
        test = arrays(50, 1)
        pieces = [(test["image"][i : i + 32], test["label"][i : i + 32]) for i in (0, 32)]
        for number, given in enumerate((test, pieces, TEST)):
            step, path = self.load(), self.at(f"{number}.safetensors")
            graph = step._graph("evaluate")

            class Graph:
                inputs, outputs = graph.inputs, graph.outputs

                def step(self, *inputs):
                    out = graph.step(*inputs)
                    os.kill(os.getpid(), signal.SIGINT)
                    return out

            step._graphs["evaluate"] = Graph()
            with self.assertRaisesRegex(KeyboardInterrupt, "after step 3 of epoch 1; the state is in"):
                step.fit(arrays(96), eval=given, checkpoint=path)
            self.assertTrue(os.path.exists(path))

    def test_an_error_in_a_loop_over_batches_stays_what_it_is(self):
        from gradus import _data

        for shuffle in (True, False):
            with self.assertRaisesRegex(ValueError, "^mine$"):
                for _ in _data.data_set(arrays(96), self.step, "train", self.step._graph("train").inputs, "data", shuffle=shuffle).epoch(0, 0):
                    raise ValueError("mine")

    def test_the_best_state_is_there_before_a_checkpoint_says_so(self):
        best, wrote = self.at("state.best.safetensors"), []
        save = self.step.save_checkpoint
        self.step.save_checkpoint = lambda path=None: wrote.append(os.path.basename(path)) or save(path)
        self.step.fit(arrays(64), eval=arrays(40, 1), best="loss", checkpoint=self.checkpoint)
        self.assertEqual(wrote, ["state.best.safetensors.gradus-state", "state.safetensors.gradus-state"])
        self.assertTrue(os.path.exists(best))

    def test_ctrl_c_does_not_wait_for_data(self):
        released, finished = threading.Event(), []

        def stuck():
            yield batch(0)
            os.kill(os.getpid(), signal.SIGINT)
            finished.append(released.wait(60))

        with self.assertRaisesRegex(KeyboardInterrupt, "the state is in"):
            self.step.fit(stuck(), checkpoint=self.checkpoint)
        self.assertEqual(finished, [], "the state is saved while the data is still waited for")
        released.set()

    def test_an_iterable_without_read_ahead_may_fill_one_buffer(self):
        image, label = batch()

        def filled(threads):
            for seed in range(6):
                threads.add(threading.current_thread())
                image[:], label[:] = batch(seed)
                yield image, label

        asked = set()
        found = self.step.fit(filled(asked), prefetch=0)
        self.assertEqual(asked, {threading.current_thread()})
        expected = self.load().fit([batch(seed) for seed in range(6)])
        self.assertEqual(found[0]["train"], expected[0]["train"])

    def test_an_iterable_goes_on_behind_its_full_batches(self):
        batches = [batch(0), batch(1, 7), batch(2), batch(3, 7), batch(4), batch(5)]
        self.step.fit(batches, epochs=2)

        class Stop:
            def on_step(self, number, out):
                if number == 2:
                    raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.load().fit(batches, epochs=2, checkpoint=self.checkpoint, callbacks=Stop())
        other = self.load()
        other.fit(batches, epochs=2, checkpoint=self.checkpoint, resume=True)
        self.assertEqual(other.save_checkpoint(), self.step.save_checkpoint())

    def test_another_length_than_that_of_the_schedule_is_warned_of(self):
        schedule = {"learning_rate": [{"type": "cosine", "fraction": 1.0, "final": 0.0}]}
        for total, said in ((4, 0), (6, 1)):
            with digits(threads=1, set={"schedule": schedule}) as step:
                path = self.at(f"{total}.safetensors")
                step.fit(arrays(64), epochs=2, checkpoint=path)
                self.assertEqual(step.get("schedule.updates"), 4)
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    step.fit(arrays(64), epochs=total // 2, checkpoint=path, resume=True)
                self.assertEqual(sum("the schedule" in str(each.message) for each in caught), said)
        self.assertRegex(str(caught[0].message), "the schedule is for a run of 4 updates, and this run has 6: it goes on as it began")
        self.assertEqual(caught[0].filename, __file__)

    def test_a_schedule_that_is_at_its_end_is_warned_of(self):
        schedule = {"learning_rate": [{"type": "cosine", "rest": True}]}
        with digits(threads=1, set={"schedule": schedule}) as step:
            step.fit(arrays(96), epochs=2)
            with self.assertWarnsRegex(UserWarning, r"for a run of 6 updates, and the step has made 6: it is at its end.*updates\", 12\)") as caught:
                step.fit(arrays(96), epochs=2)
            self.assertEqual(caught.filename, __file__)
            step.set("schedule.updates", 15)
            with self.assertWarnsRegex(UserWarning, "a run of 15 updates, and the step has made 12: it ends 3 updates before this fit does"):
                step.fit(arrays(96), epochs=2)
            step.reset()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                step.fit(arrays(96), epochs=2)

    def test_a_loaders_rest_is_no_update_of_the_schedule(self):
        class Loader:
            """Has the attributes by which a DataLoader tells how it makes batches."""

            batch_size, drop_last, sampler = 32, False, range(70)

            def __len__(self):
                return 3

            def __iter__(self):
                return iter([batch(0), batch(1), batch(2, 6)])

        schedule = {"learning_rate": [{"type": "cosine", "fraction": 1.0, "final": 0.0}]}
        for data in (Loader(), list(Loader())):
            with digits(threads=1, set={"schedule": schedule}) as step:
                step.fit(data, epochs=3)
                self.assertEqual(step.get("schedule.updates"), 6)

    def test_a_refused_checkpoint_changes_nothing(self):
        import gradus

        self.step.fit(arrays(64), checkpoint=self.checkpoint)
        other = self.load()
        before = other.save_checkpoint()
        with self.assertRaisesRegex(gradus.InvalidError, "trained with seed=0"):
            other.fit(arrays(64), checkpoint=self.checkpoint, resume=True, seed=3)
        self.assertEqual(other.save_checkpoint(), before)
        with self.assertRaisesRegex(gradus.InvalidError, "there is no such checkpoint"):
            other.fit(arrays(64), checkpoint=self.checkpoint.replace("state", "other"), resume=True)

    def test_rows_are_told_from_batches(self):
        import gradus

        image, label = batch()
        rows = [{"image": image[i], "label": label[i]} for i in range(32)]
        with self.assertRaisesRegex(gradus.InvalidError, r"no full batch: input 'image' came as \[1, 28, 28\], expected \[32, 1, 28, 28\]"):
            self.step.fit(rows)
        for given in ({"image": image[0].tolist(), "label": 3}, {"image": image, "label": label.tolist()}):
            with self.assertRaisesRegex(gradus.InvalidError, r"input '(image|label)' came as a list, expected an array\. A data set of Hugging Face "
                                                             r'gives arrays as \.with_format\("numpy"\)'):
                self.step.fit([given])

    def test_samples_that_cannot_be_tested_are_counted(self):
        import gradus
        from gradus import _data, _fit

        outline = json.loads(_data.outline(self.step))
        next(graph for graph in outline["graphs"] if graph["name"] == "evaluate")["inputs"].pop()

        class Graph:
            """A graph that takes full batches alone: it has no input that counts the samples of one."""

            inputs, outputs = self.step._graph("evaluate").inputs[:-1], (("loss", "f32", ()),)

            def step(self, image, label):
                return {"loss": 1.0}

        class Step:
            graphs, _labels, _matched, _outline = ("evaluate",), self.step._labels, self.step._matched, json.dumps(outline)

            def _graph(self, name):
                return Graph()

        with self.assertWarnsRegex(UserWarning, "18 samples are in none of the figures"):
            self.assertEqual(_fit.evaluate(Step(), arrays(50)), {"loss": 1.0})
        data = arrays(50)
        with self.assertWarnsRegex(UserWarning, "18 samples are in none of the figures"):
            self.assertEqual(_fit.evaluate(Step(), [(data["image"][i : i + 32], data["label"][i : i + 32]) for i in (0, 32)]), {"loss": 1.0})
        Graph.inputs = ()
        with self.assertRaisesRegex(gradus.InvalidError, "takes no inputs"):
            _fit.evaluate(Step(), arrays(50))

    def test_a_checkpoint_is_not_written_over_unasked(self):
        import gradus

        self.step.fit(arrays(64), checkpoint=self.checkpoint)
        with self.assertRaisesRegex(gradus.InvalidError, "resume=True"):
            self.step.fit(arrays(64), checkpoint=self.checkpoint)
        with self.assertRaisesRegex(gradus.InvalidError, "trained with seed=0"):
            self.step.fit(arrays(64), checkpoint=self.checkpoint, resume=True, seed=3)
        self.step(*batch())
        self.step.save_checkpoint(self.checkpoint)
        with self.assertRaisesRegex(gradus.InvalidError, "nothing says which epoch it is in: .*state.fit.json, .* is of another state"):
            self.step.fit(arrays(64), checkpoint=self.checkpoint, resume=True)

    def test_the_best_state_is_kept_and_patience_ends_the_run(self):
        self.step.set("optimizer.learning_rate", 0.0)
        records = self.step.fit(arrays(64), epochs=50, eval=arrays(40, 1), best="accuracy", patience=3, checkpoint=self.checkpoint)
        self.assertEqual(len(records), 4)
        best = self.at("state.best.safetensors")
        step = self.load()
        step.resume(best)
        self.assertEqual(step.step_count, 2)

    def test_what_best_and_patience_need_is_said(self):
        import gradus

        for words, options in (("give eval=.* or validation=", {"patience": 1}), ("patience: expected 1 test or more, found 0", {"patience": 0, "eval": arrays(32)}),
                               ("patience: .* found -1", {"patience": -1}), ("needs checkpoint", {"best": "loss", "eval": arrays(32)}),
                               ("expected METRIC, METRIC:max or METRIC:min", {"best": "loss:most", "eval": arrays(32), "checkpoint": self.checkpoint}),
                               ("best: f1: evaluation gives loss, accuracy", {"best": "f1", "eval": arrays(32), "checkpoint": self.checkpoint})):
            with self.assertRaisesRegex(gradus.InvalidError, words):
                self.step.fit(arrays(64), **options)

    def test_callbacks_see_each_epoch_and_may_end_it(self):
        seen = []
        self.step.fit(arrays(64), epochs=9, callbacks=lambda record: seen.append(record["epoch"]) or record["epoch"] == 2)
        self.assertEqual(seen, [1, 2])

    def test_all_samples_are_evaluated(self):
        import numpy

        data = arrays(45)
        logits = self.step.predict(data["image"]).logits
        figures = self.step.evaluate(data)
        self.assertAlmostEqual(figures["accuracy"], float((logits.argmax(1) == data["label"]).mean()), 6)
        pieces = [(data["image"][i : i + 7], data["label"][i : i + 7]) for i in range(0, 45, 7)]
        self.assertAlmostEqual(self.step.evaluate(pieces)["loss"], figures["loss"], 5)
        self.assertTrue(numpy.isfinite(figures["loss"]))

    def test_a_nan_is_named_with_its_place(self):
        import gradus

        data = arrays(64)
        data["image"][40, 0, 3, 5] = math.nan
        with self.assertRaisesRegex(gradus.FailedError, r"step 2: the loss is nan; input 'image' has nan at \[8, 0, 3, 5\]"):
            self.step.fit(data, shuffle=False)

    def test_data_that_does_not_fit_is_refused(self):
        import gradus
        import numpy

        data = arrays(64)
        for words, given in (("data: tensor 'label' has 9 samples, others have 64", {**data, "label": data["label"][:9]}),
                             ("fill no batch", arrays(20)), ("without 'label'", {"image": data["image"]}),
                             ("expected files, a dictionary or tuple", 3), ("digits.csv: cannot open: No such file", "digits.csv"),
                             (r"tensor 'image' is f32 \[samples, 28, 14\]; expected f32 \[samples, 1, 28, 28\]", {**data, "image": data["image"][:, 0, :, :14]}),
                             ("tensor 'label': sample 7 has the label 10", {**data, "label": numpy.where(numpy.arange(64) == 7, 10, data["label"])}),
                             ("found an array of complex64", {**data, "image": data["image"].astype("complex64")}),
                             ("has no full batch", iter([]))):
            with self.assertRaisesRegex(gradus.InvalidError, words):
                self.step.fit(given)

    def test_an_error_of_the_data_comes_through(self):
        def broken():
            yield batch(0)
            raise OSError("the disk is gone")

        with self.assertRaisesRegex(OSError, "the disk is gone"):
            self.step.fit(broken())
        self.assertEqual(self.step.step_count, 1)

    def test_the_progress_is_one_line_an_epoch(self):
        import contextlib
        import io

        shown = io.StringIO()
        with contextlib.redirect_stderr(shown):
            self.step.fit(arrays(64), epochs=2, eval=arrays(32), progress=True)
            self.step.fit(arrays(64))
        self.assertEqual(shown.getvalue().count("\n"), 2)
        self.assertRegex(shown.getvalue(), r"epoch 2/2  loss [\d.]+  accuracy [\d.]+  test  loss")

    def test_the_notes_belong_to_the_state_that_is_there(self):
        import gradus

        notes = self.at("state.fit.json")
        self.step.fit(arrays(64), epochs=2, checkpoint=self.checkpoint)
        self.assertEqual(sorted(os.listdir(self.folder)), ["state.fit.json", "state.safetensors"])
        with open(notes) as file:
            self.assertEqual([noted["epoch"] for noted in json.load(file).values()], [2, 1])
        other = self.load()
        self.assertEqual(len(other.fit(arrays(64), epochs=3, checkpoint=self.checkpoint, resume=True)), 3)
        other(*batch())
        other.save_checkpoint(self.checkpoint)
        with self.assertRaisesRegex(gradus.InvalidError, "nothing says which epoch it is in: .*state.fit.json, .* is of another state"):
            other.fit(arrays(64), epochs=3, checkpoint=self.checkpoint, resume=True)


if __name__ == "__main__":
    unittest.main()
