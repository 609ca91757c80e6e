"""The files that a training writes: refused before its first step, and never written over unasked."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package import WithSteps, arrays, batch, needs_package  # noqa: E402


@needs_package
class Files(WithSteps):
    def write(self, name, text):
        with open(self.at(name), "w") as file:
            file.write(text)
        return self.at(name)

    def read(self, name):
        with open(self.at(name)) as file:
            return file.read()

    def refused(self, words, step=None, data=None, **options):
        """Asserts that `fit` is refused before its first step."""
        import gradus

        step = step or self.load()
        before = step.step_count
        with self.assertRaisesRegex(gradus.InvalidError, words):
            step.fit(arrays(64) if data is None else data, **options)
        self.assertEqual(step.step_count, before)

    def test_what_cannot_be_written_is_refused_before_the_first_step(self):
        os.mkdir(self.at("folder.html"))
        os.mkfifo(self.at("pipe.html"))
        self.refused("checkpoint: .*c.safetensors cannot be written: the folder .*nodir is not there", checkpoint=self.at("nodir/c.safetensors"))
        self.refused("checkpoint: .* is a folder, expected the name of a file", checkpoint=self.folder)
        self.refused("report: .*a.html cannot be written: the folder .*nodir is not there", report=self.at("nodir/a.html"))
        self.refused("report: .*folder.html is a folder", report=self.at("folder.html"))
        self.refused("report: .*pipe.html is no file", report=self.at("pipe.html"))
        self.refused("nodir/l", log=self.at("nodir/l"))
        self.refused("report: /proc/a.html cannot be written: ", report="/proc/a.html")
        self.assertEqual(sorted(os.listdir(self.folder)), ["folder.html", "pipe.html"], "what was tried is removed")

    def test_the_best_state_is_gone_on_from(self):
        data, test = arrays(96), arrays(40, 1)
        options = {"epochs": 4, "eval": test, "best": "loss:max", "checkpoint": self.at("a.safetensors")}
        whole = self.load()
        records = whole.fit(data, **options)
        best = max(records, key=lambda record: record["test"]["loss"])["epoch"]
        other = self.load()
        again = other.fit(data, **{**options, "checkpoint": self.at("b.safetensors")}, resume=self.at("a.best.safetensors"))
        self.assertEqual([{**each, "seconds": 0} for each in again], [{**each, "seconds": 0} for each in records])
        self.assertEqual(other.save_checkpoint(), whole.save_checkpoint())
        self.assertGreater(len(records), best - 1)
        self.load().save(self.at("c.safetensors"))
        self.refused("c.safetensors: nothing says which epoch it is in: .*c.fit.json, which fit writes .* is not there", resume=self.at("c.safetensors"))

    def test_nothing_of_another_run_is_written_over_unasked(self):
        options = {"eval": arrays(40, 1), "best": "loss", "checkpoint": self.at("a.safetensors"), "log": self.at("a.jsonl"),
                   "report": self.at("a.html")}
        self.load().fit(arrays(96), epochs=2, **options)
        log = self.read("a.jsonl")
        self.refused("a.safetensors: a checkpoint is there; .*resume=True.*overwrite=True", **options)
        os.unlink(self.at("a.safetensors"))
        self.refused("a.best.safetensors: the best state of another run is there", **options)
        self.refused("log: .*a.jsonl: has the figures of 6 steps, and this step has made 0: .*overwrite=True", log=self.at("a.jsonl"))
        step = self.load()
        step.fit(arrays(64))
        self.refused("has the figures of 6 steps, and this step has made 2", step, log=self.at("a.jsonl"))
        self.refused("page.html: is there and is no report of Gradus; .*overwrite=True", report=self.write("page.html", "<p>mine"))
        self.assertEqual((self.read("a.jsonl"), self.read("page.html")), (log, "<p>mine"))
        records = self.load().fit(arrays(96), overwrite=True, **options)
        self.assertEqual((len(records), self.read("a.jsonl").count("\n")), (1, 4))
        self.load().fit(arrays(96), overwrite=True, report=self.at("page.html"))
        self.assertIn("gradus.report", self.read("page.html"))

    def test_a_cell_can_be_run_again(self):
        options = {"checkpoint": self.at("a.safetensors"), "resume": "auto"}
        self.assertEqual(len(self.load().fit(arrays(64), epochs=2, **options)), 2)
        step = self.load()
        with self.assertWarnsRegex(UserWarning, "has trained 2 epochs, and epochs=2 counts them from the beginning: there is nothing left to train"):
            self.assertEqual(len(step.fit(arrays(64), epochs=2, **options)), 2)
        self.assertEqual(step.step_count, 4)
        self.assertEqual([each["step"] for each in step.fit(arrays(64), epochs=3, **options)], [2, 4, 6])
        self.assertEqual([each["step"] for each in self.load().fit(arrays(64), overwrite=True, **options)], [2])
        self.refused("resume=True goes on from the checkpoint, and overwrite=True begins it anew", checkpoint=self.at("a.safetensors"),
                     resume=True, overwrite=True)
        self.refused("resume='auto' needs checkpoint=FILE", resume="auto")

    def test_what_something_else_wrote_meanwhile_stays(self):
        import gradus

        path, theirs = self.at("a.safetensors"), self.load()
        theirs(*batch(9))
        for epoch in (1, 2):  # a file that appeared, and one that was replaced
            def write(record):
                if record["epoch"] == epoch:
                    theirs.save_checkpoint(path)

            step = self.load()
            with self.assertRaisesRegex(gradus.FailedError, "a.safetensors: something else wrote it .* is in .*a.2.safetensors, from which") as caught:
                step.fit(arrays(64), epochs=3, checkpoint=path, callbacks=write, overwrite=epoch == 2)
            self.assertEqual(len(caught.exception.records), epoch + 1)
            found = self.load()
            found.resume(path)
            self.assertEqual(found.save_checkpoint(), theirs.save_checkpoint())
            other = self.load()
            self.assertEqual(len(other.fit(arrays(64), epochs=4, resume=self.at("a.2.safetensors"))), 4)
            os.unlink(self.at("a.2.safetensors"))

    def test_a_checkpoint_is_a_file_of_safetensors(self):
        for name in ("model.pt", "model.ckpt", "model"):
            self.refused(f"checkpoint: .*{name}: .* expected a name that ends in .safetensors", checkpoint=self.at(name))

    def test_other_data_than_the_first_is_warned_of(self):
        path = self.at("a.safetensors")
        self.load().fit(arrays(96), checkpoint=path)
        with self.assertWarnsRegex(UserWarning, "was trained with a number of samples of 96, now it is 64: this run goes on otherwise"):
            self.load().fit(arrays(64), epochs=2, checkpoint=path, resume=True)


if __name__ == "__main__":
    unittest.main()
