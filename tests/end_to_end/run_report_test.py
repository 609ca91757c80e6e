"""The page of `gradus train --report FILE.html`: its numbers are those of the log, however the run ends."""

import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from report_page import BUILD, DIGITS, browser, gradus, keys_of, reached, read_page, shown_words, unknown_keys  # noqa: E402

ARTIFACTS = os.path.join(BUILD, "tests", "run_report")  # pages stay here
TRAIN, TEST = (os.path.join(DIGITS, name + ".safetensors") for name in ("train", "test"))


def path(name):
    return os.path.join(ARTIFACTS, name)


def read_log(name):
    with open(path(name), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def curve(data, of, name):
    found, = [each for each in data["curves"] if (each["of"], each["name"]) == (of, name)]
    return found


class RunReport(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        shutil.rmtree(ARTIFACTS, ignore_errors=True)
        os.makedirs(ARTIFACTS)
        cls.artifact = path("lenet.gradus")
        gradus("compile", os.path.join(DIGITS, "lenet.onnx"), "--recipe", os.path.join(DIGITS, "recipe.json"), "--set",
               'metrics=["accuracy", "learning_rate"]', "-o", cls.artifact)
        cls.told = json.loads(gradus("train", cls.artifact, "--data", TRAIN, "--eval", TEST, "--epochs", "3", "--json", "--log",
                                     path("log.jsonl"), "--checkpoint", path("c.safetensors"), "--report",
                                     path("run.html")).splitlines()[-1])
        cls.text, cls.problems, cls.data = read_page(path("run.html"))
        cls.log = read_log("log.jsonl")

    def test_it_is_a_page_that_needs_nothing_but_itself(self):
        self.assertEqual(self.problems, [])
        self.assertIsNone(reached(self.text))

    def test_its_script_reads_every_key(self):
        self.assertEqual((self.data["format"], self.data["version"], self.data["kind"]), ("gradus.report", 1, "run"))
        self.assertGreater(len(keys_of(self.data)), 60)
        self.assertEqual(unknown_keys(self.data), set())

    def test_its_curves_are_those_of_the_log(self):
        steps = [line for line in self.log if "train" not in line]
        self.assertEqual(len(steps), 132)
        for name in ("loss", "accuracy", "learning_rate"):
            self.assertEqual(curve(self.data, "step", name)["points"], [[line["step"], line[name]] for line in steps])
        epochs = [line for line in self.log if "train" in line]
        for name in ("loss", "accuracy"):
            self.assertEqual(curve(self.data, "epoch", name)["points"], [[line["step"], line["train"][name]] for line in epochs])
            self.assertEqual(curve(self.data, "test", name)["points"], [[line["step"], line["test"][name]] for line in epochs])

    def test_its_facts_are_those_that_train_tells(self):
        run, memory = self.data["run"], self.data["memory"]
        for key in ("steps", "test", "training_samples", "test_samples", "ms_per_step", "checkpoint", "seconds"):
            self.assertEqual(run[key], self.told[key], key)
        self.assertEqual(memory["predicted_bytes"], self.told["predicted_bytes"])
        parts = [memory[part + "_bytes"] for part in ("state", "arena", "constant", "code")]
        self.assertEqual(sum(parts), memory["predicted_bytes"])
        weights, = [each["bytes"] for each in memory["states"] if each["role"] == "parameter"]
        slots, = [each["bytes"] for each in memory["states"] if each["role"] == "slot"]
        self.assertEqual((weights, slots), (4 * 61706, 8 * 61706))  # LeNet-5; AdamW has two slots
        self.assertEqual((run["ended"], run["from_step"]), ("done", 0))

    def test_its_confusion_matrix_has_the_accuracy(self):
        scores, = self.data["scores"]
        right = sum(scores["confusion"][i][i] for i in range(10))
        self.assertAlmostEqual(right / 360, self.told["test"]["accuracy"], places=6)
        self.assertEqual(sum(scores["counts"]), 360)

    def test_its_worst_samples_are_pictures_in_order(self):
        samples = self.data["worst"]["samples"]
        losses = [each["loss"] for each in samples]
        self.assertEqual(losses, sorted(losses, reverse=True))
        self.assertEqual(len(samples), 24)
        self.assertTrue(all(each["picture"].startswith("data:image/png;base64,") for each in samples))

    def test_a_resumed_run_says_where_it_begins(self):
        gradus("train", self.artifact, "--data", TRAIN, "--epochs", "4", "--no-checkpoint", "--resume", path("c.safetensors"), "--report", path("on.json"))
        with open(path("on.json"), encoding="utf-8") as file:
            data = json.load(file)
        self.assertEqual((data["run"]["from_step"], data["run"]["steps"]), (132, 176))
        self.assertEqual(curve(data, "step", "loss")["points"][0][0], 133)
        self.assertEqual((data["scores"], data["worst"]), ([], None))
        self.assertIn("no test data", data["scores_words"])

    def test_a_run_of_one_step_has_a_page(self):
        gradus("train", self.artifact, "--data", TRAIN, "--steps", "1", "--no-checkpoint", "--report", path("one.html"))
        self.assertEqual(curve(read_page(path("one.html"))[2], "step", "loss")["values"], 1)

    def test_a_run_that_diverges_says_so(self):
        done = subprocess.run([os.path.join(BUILD, "bin", "gradus"), "train", self.artifact, "--data", TRAIN, "--eval", TEST, "--set",
                               "optimizer.learning_rate=1e30", "--no-checkpoint", "--report", path("nan.html")], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        data = read_page(path("nan.html"))[2]
        self.assertEqual(data["run"]["ended"], "failed")
        self.assertTrue(data["run"]["why"])
        self.assertIn(data["run"]["why"], done.stderr)

    def test_an_interrupted_run_has_its_page(self):
        with subprocess.Popen([os.path.join(BUILD, "bin", "gradus"), "train", self.artifact, "--data", TRAIN, "--epochs", "100000",
                               "--no-checkpoint", "--report", path("cut.html")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            while "train loss" not in run.stdout.readline():
                self.assertIsNone(run.poll())
            run.send_signal(signal.SIGINT)
            error = run.communicate(timeout=60)[1]
        self.assertNotEqual(run.returncode, 0)
        data = read_page(path("cut.html"))[2]
        self.assertEqual(data["run"]["ended"], "interrupted")
        self.assertIn(f"after step {data['run']['steps']} ", error)
        self.assertEqual(curve(data, "step", "loss")["values"], data["run"]["steps"])

    def test_an_error_of_writing_names_the_file(self):
        done = subprocess.run([os.path.join(BUILD, "bin", "gradus"), "train", self.artifact, "--data", TRAIN, "--steps", "1", "--report",
                               path("no/such/run.html")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("no/such/run.html", done.stderr)

    def test_a_browser_draws_all_of_it(self):
        if not browser():
            self.skipTest("no browser here: the Debian package chromium has one")
        words, lost = shown_words(path("run.html"))
        self.assertEqual(lost, [])
        self.assertNotIn("could not be drawn", words)
        for shown in ("Test accuracy", "learning rate", "Worst samples of the test data", "Samples a second", "taken for", "optimizer's slots"):
            self.assertIn(shown, words)


if __name__ == "__main__":
    unittest.main()
