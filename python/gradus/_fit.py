"""The loop of training: epochs, tests, checkpoints, early stopping, callbacks."""

import math
import operator
import os
import time

from . import _checkpoint, _data, _former, _training
from ._core import FailedError, InvalidError
from ._evaluate import evaluate, test_inputs
from ._interrupts import Interrupts
from ._progress import Line
from ._records import Records, Run
from ._tracebacks import warn


def fit(step, data, *, epochs, eval, validation, best, patience, checkpoint, resume, overwrite, callbacks, seed, shuffle, progress, prefetch, log,
        tensorboard, report):
    """What `Step.fit` does, whose words say what each option means."""
    _verify_options(epochs, callbacks)
    loop = _Loop(step, _data.data_set(data, step, "train", step._graph("train").inputs, "data", shuffle=shuffle), epochs, seed, prefetch)
    if eval is not None:
        loop.test = _data.data_set(eval, step, "evaluate", test_inputs(step, "evaluate"), "eval",
                                   classes=getattr(loop.data, "classes", ()))
    if validation is not None:
        loop.hold_out(validation)
    loop.judge = _Judge(best, patience, checkpoint, loop.test, step)
    loop.keep(checkpoint)
    loop.callbacks = list(callbacks) if isinstance(callbacks, (tuple, list)) else [callbacks]
    loop.line = Line(progress)
    loop.facts = Run(step, loop, report)
    if loop.facts.path is not None:
        _former.verify_report(loop.facts.path, overwrite)
    loop.begin(resume, overwrite)
    loop.facts.begin()
    loop.open_log(log, tensorboard, overwrite)
    return loop.run()


def _verify_options(epochs, callbacks):
    try:
        if isinstance(epochs, bool) or operator.index(epochs) < 0:
            raise TypeError
    except TypeError:
        raise InvalidError(f"epochs: expected a whole number, 0 or more, found {epochs!r}") from None
    for callback in callbacks if isinstance(callbacks, (tuple, list)) else [callbacks]:
        if not callable(callback) and not any(hasattr(callback, name) for name in _CALLED):
            raise InvalidError(f"callbacks: expected a function of an epoch's dictionary, or an object with {', '.join(_CALLED)}; "
                               f"found {callback!r}, which is never called")


_CALLED = ("on_step", "on_epoch", "on_end")


class _Judge:
    """Which test is the best, and when to stop."""

    def __init__(self, best, patience, checkpoint, test, step):
        if patience is not None and patience < 1:
            raise InvalidError(f"patience: expected 1 test or more, found {patience}; None never ends a run early")
        if (best or patience) and test is None:
            raise InvalidError("best= and patience= go by a test: give eval=, a data set to test on, or validation=, a part of the data")
        if best and checkpoint is None:
            raise InvalidError("best= needs checkpoint=FILE, beside which the best state is written")
        self.metric, self.patience, self.writes = _training.best_metric(best or "loss"), patience, bool(best)
        if test is not None:
            self.metric.verify([name for name, _, shape in step._graph("evaluate").outputs if not shape])

    def better(self, figures, at):
        return self.metric.update(figures, at)

    @property
    def tired(self):
        return self.patience is not None and self.metric.stale >= self.patience


class _Loop:
    """One training."""

    def __init__(self, step, data, epochs, seed, prefetch):
        self.step, self.data, self.test, self.log = step, data, None, None
        self.epochs, self.prefetch = epochs, prefetch
        self.seed = step.recipe.get("seed", 0) if seed is None else seed
        self.epoch, self.done, self.at, self.records, self.in_steps = 0, 0, step.step_count, Records(), 0.0
        self.figures = _training.epoch_figures()
        self.checkpoint, self.best = None, None
        self.part = None  # of the data, that is held out for tests
        self.interrupts, self.reader, self.untold = Interrupts(), None, []
        self.stops = step.recipe.get("on_nonfinite", "stop") == "stop" and step.metadata("loss_scale") is None

    # -- where it stands ---------------------------------------------------

    def hold_out(self, part):
        """Tests on a part of the data."""
        if self.test is not None:
            raise InvalidError("give eval=, other data to test on, or validation=, a part of the data, and not both")
        if not isinstance(self.data, _data.Samples):
            raise InvalidError("validation: expected files or arrays of all samples as data; batches of an iterable cannot be told apart "
                               "from epoch to epoch: split its data set, and give the other part as eval=")
        test_inputs(self.step, "evaluate")
        self.part, self.test = part, self.data.hold_out(self.step, "evaluate", part, self.seed)

    def keep(self, path):
        """Names the checkpoint and the best state. Files that could not be written are refused before any work is done."""
        if path is not None:
            self.checkpoint = _checkpoint.Checkpoint(path, "checkpoint")
            if self.judge.writes:
                self.best = _checkpoint.Checkpoint(_checkpoint.best_name(self.checkpoint.path), "best")

    def begin(self, resume, overwrite):
        """Goes on from a checkpoint, or sees that nothing of another run is written over."""
        if resume in (True, "auto") and self.checkpoint is None:
            raise InvalidError(f"resume={resume!r} needs checkpoint=FILE")
        if resume is True and overwrite:
            raise InvalidError("resume=True goes on from the checkpoint, and overwrite=True begins it anew: give one of them")
        if resume == "auto":
            resume = self.checkpoint.is_there() and not overwrite
        source = self.checkpoint.path if resume is True else resume
        self.resumed = os.fspath(source) if source else None
        if source:
            self.restore(self.resumed)
        goes_on = source and self.checkpoint is not None and self.checkpoint.is_there() and os.path.samefile(self.resumed, self.checkpoint.path)
        for kept in (self.checkpoint, self.best):
            if kept is not None and kept.is_there() and not goes_on and not overwrite:
                raise InvalidError(f"{kept.path}: {'a checkpoint' if kept is self.checkpoint else 'the best state of another run'} is there; go on "
                                   "from it (resume=True; resume=\"auto\" where there is one), name another file, or replace it (overwrite=True)")
            if kept is not None:
                kept.begin()
        if self.epochs - self.epoch > 1 and isinstance(self.data, _data.Batches) and _data.is_used_up(self.data.iterable):
            raise InvalidError(f"data: a {type(self.data.iterable).__name__} gives its batches once, and {self.epochs - self.epoch} epochs are to be "
                               "trained: give a list, a DataLoader or another object whose __iter__ begins anew, or epochs=1")
        batches = self.data.full_batches
        if batches is not None:
            if batches == 0 and isinstance(self.data, _data.Samples):
                raise InvalidError(f"data: {self.data.samples} samples fill no batch of {self.data.batch}")
            self.give_length(batches)

    def give_length(self, batches):
        """Tells schedules how long the run is, where the recipe does not. One that was told before keeps its length."""
        recipe = self.step.recipe
        each = int(recipe.get("accumulation") or 1)
        made = 0 if self.resumed else self.at // each  # by earlier fits: the epochs of a resumed one count from the beginning
        for name, what, length in (("updates", "a run", made + max(batches * self.epochs // each, 1)), ("updates_per_epoch", "epochs", batches / each)):
            path = f"schedule.{name}"
            if path not in self.step.states or not length:
                continue
            before, said = self.step.get(path), isinstance((recipe.get("schedule") or {}).get(name), (int, float))
            if not before:
                self.step.set(path, length)
            elif name == "updates" and made and before < length and (not said or made >= before):
                where = "it is at its end" if made >= before else f"it ends {length - before:g} updates before this fit does"
                warn(f"the schedule is for a run of {before:g} updates, and the step has made {made}: {where}, and its last values stay. "
                      f"step.set(\"{path}\", {length:g}) makes it fit both runs, and step.reset() begins anew")
            elif before != length and not said:
                warn(f"the schedule is for {what} of {before:g} updates, and this run has {length:g}: it goes on as it began; "
                      f"{path} in the recipe, or step.set(\"{path}\", {length:g}) in a callback, makes it fit this run")

    def restore(self, path):
        noted = _checkpoint.read(path, self)
        self.step.resume(path)
        self.epoch, self.done, self.at = noted["epoch"], noted["done"], self.step.step_count
        self.records.extend(noted["records"])
        self.figures.restore(noted["figures"])
        self.judge.metric.restore(noted["best"])
        self.note(_checkpoint.other_data(noted, self.data))
        if self.epoch >= self.epochs or self.judge.tired:
            why = "patience has ended it" if self.judge.tired else f"epochs={self.epochs} counts them from the beginning"
            self.note([f"{path}: has trained {self.epoch} epochs, and {why}: there is nothing left to train"])

    def open_log(self, file, events, overwrite):
        if file is None and events is None:
            return
        file, events = (None if path is None else os.fspath(path) for path in (file, events))
        inside = self.done > 0 and self.epoch < self.epochs
        last = None if file is None else _former.last_step_of(file)
        if last is not None and last > self.at and not self.resumed and not overwrite:
            raise InvalidError(f"log: {file}: has the figures of {last} steps, and this step has made {self.at}: another run wrote it. Name another "
                               "file, or replace it (overwrite=True)")
        goes_on = self.resumed or (self.at > 0 and last is not None and last <= self.at)
        self.log = _training.log(file, events, self.at if goes_on else None, inside)
        self.tell(self.log.take_remarks())

    def note(self, remarks):
        """Keeps remarks, once each, for the report, and for the user as soon as nothing can be lost by an error."""
        remarks = [words for words in remarks if words not in self.facts.remarks]
        self.facts.remarks.extend(remarks)
        self.untold.extend(remarks)

    def tell(self, remarks=()):
        """Warns of remarks, and of those that were noted before. Where warnings are errors, the first one is raised."""
        self.note(remarks)
        untold, self.untold = self.untold, []
        for words in untold:
            warn(words)

    def noted(self):
        """What `fit` goes on with, beside the state."""
        return {"epoch": self.epoch, "done": self.done, "records": self.records, "figures": self.figures.to_json(),
                "seed": self.seed, "validation": self.part, "best": self.judge.metric.to_json(),
                "samples": getattr(self.data, "samples", None), "batch": self.data.batch}

    def save(self):
        if self.log is not None:
            self.log.flush()  # it must never be behind the state
        self.checkpoint.save(self.step, self.noted())

    # -- running -----------------------------------------------------------

    def run(self):
        for data in (self.data, self.test):
            self.tell(getattr(data, "remarks", ()))
        how, why = "failed", ""
        try:
            with self.interrupts:
                self.run_epochs()
            how = "stopped early" if self.judge.tired else "done"
        except BaseException as error:
            how, why = "interrupted" if isinstance(error, KeyboardInterrupt) else how, str(error)
            error.records = self.records
            raise
        finally:  # after the state was saved: what is read may wait for long
            if self.reader is not None:
                self.reader.close()
            self.end(how, why)
        self.call("on_end", self.records)
        return self.records

    def end(self, how, why):
        """Ends the log and the report of a run, however it ended. What ended it counts more than what then goes wrong."""
        if how in ("failed", "interrupted"):
            self.line.stop(self, how)
        self.line.end()
        wrong, ended = [], how in ("failed", "interrupted")
        acts = [self.end_log, lambda: self.end_report(how, why)]
        if ended:
            acts.append(lambda: self.call("on_end", self.records))
        for act in acts:
            try:
                act()
            except Exception as error:
                wrong.append(error)
        if wrong and not ended:
            raise wrong[0]
        try:
            self.tell(map(str, wrong))
        except UserWarning:  # where warnings are errors
            if not ended:
                raise

    def end_log(self):
        if self.log is not None:
            self.log.flush()
            self.note(self.log.take_remarks())

    def end_report(self, how, why):
        self.records.run = self.facts.end(how, why)
        if self.facts.path is not None:
            self.records.report(self.facts.path)

    def run_epochs(self):
        try:
            while self.epoch < self.epochs and not self.judge.tired:
                if self.run_epoch():
                    break
        except KeyboardInterrupt:
            self.line.stop(self, "interrupted")
            if self.checkpoint is None:
                raise KeyboardInterrupt(f"after step {self.done} of epoch {self.epoch + 1}; the step has made {self.at} steps, and its next fit "
                                        "goes on with its state. The exception's `records` has the epochs that ended") from None
            with self.interrupts.held:
                self.save()
            raise KeyboardInterrupt(f"after step {self.done} of epoch {self.epoch + 1}; the state is in {self.checkpoint.path}, "
                                    "from which resume=True goes on") from None

    def run_epoch(self):
        start, before, in_steps = time.monotonic(), self.at, self.in_steps
        self.run_batches()
        record = {"epoch": self.epoch + 1, "step": self.at, "seconds": time.monotonic() - start, "train": self.figures.means()}
        each = (self.in_steps - in_steps) / max(self.at - before, 1)
        if self.test is not None:
            record["test"] = evaluate(self.step, self.test, tell=lambda words: self.note([words]))
        with self.interrupts.held:
            self.end_epoch(record, each)
        self.tell()
        self.line.epoch(record, self.epochs)
        return self.call("on_epoch", record)

    def end_epoch(self, record, seconds_per_step):
        """Counts a tested epoch and saves. The best state is in its file before a checkpoint says that there is one."""
        if self.log is not None:
            self.log.epoch(record["epoch"], self.at, record["train"], record.get("test", {}), seconds_per_step)
            self.note(self.log.take_remarks())
        self.facts.add_epoch(record, seconds_per_step)
        self.records.append(record)
        self.epoch, self.done, self.figures = self.epoch + 1, 0, _training.epoch_figures()
        if self.test is not None and self.judge.better(record["test"], self.at) and self.best is not None:
            self.best.save(self.step, self.noted())
        if self.checkpoint is not None:
            self.save()

    def run_batches(self):
        before = self.done
        batches = self.data.epoch(self.seed, self.epoch, self.done)
        left_out = None
        if isinstance(self.data, _data.Samples):
            for arrays in batches:
                self.run_step(arrays)
        else:
            left_out = self.run_given(batches)
        if self.done == before == 0:
            again = "; an iterator gives its batches once, a list or a DataLoader each epoch" if self.epoch and left_out is None else ""
            raise InvalidError(f"data: epoch {self.epoch + 1} has no full batch" + _smaller(self.step, left_out) + again)

    def run_given(self, batches):
        """Runs a user's batches, and returns the last of those that are not full."""
        left_out = None
        if self.prefetch > 0:
            batches = self.reader = _data.Prefetched(iter(batches), self.prefetch)
        for batch in batches:
            arrays = self.data.matched(batch)
            _refuse_lists(self.step, arrays)
            if _data.is_full(arrays, self.data.batch):
                self.run_step(arrays)
            else:
                left_out = arrays
        return left_out

    def run_step(self, arrays):
        with self.interrupts.held:
            start = time.perf_counter()
            out = self.step(*arrays)
            self.in_steps += time.perf_counter() - start
            self.done += 1
            self.at += 1
            figures = {name: value for name in out.keys() if isinstance(value := out[name], (int, float))}
            self.figures.add(figures)
            refused = self.stops and not math.isfinite(figures.get("loss", 0))
            if not refused:
                self.record(figures)
        if refused:
            raise FailedError(f"epoch {self.epoch + 1}, step {self.done}: the loss is {figures['loss']}" + _spoiled(self.step, arrays, self.data)
                              + ". The recipe's on_nonfinite says what then happens (stop, skip, continue)")
        self.line.step(self, figures)
        self.call("on_step", self.done, out)

    def record(self, figures):
        """Writes down the figures of a step."""
        if self.log is not None:
            self.log.step(self.at, self.epoch + 1, figures)
        self.facts.add_step(self.at, figures)

    def call(self, method, *arguments):
        """Calls the callbacks; True where one of them ends the training."""
        ends = False
        for callback in self.callbacks:
            function = getattr(callback, method, None)
            if function is None and method == "on_epoch" and callable(callback):
                function = callback
            if function is not None and function(*arguments) is True:
                ends = True
        return ends


def _refuse_lists(step, arrays):
    """A data set of Hugging Face gives lists unless it is told otherwise."""
    for name, array in zip(step._names, arrays):
        if isinstance(array, list):
            raise InvalidError(f"data: input {name!r} came as a list, expected an array. A data set of Hugging Face gives arrays as "
                               '.with_format("numpy"), and batches of them by .iter(batch_size)')


def _smaller(step, arrays):
    """What was found where a full batch was expected, in words."""
    if arrays is None:
        return ": nothing came"
    for (name, (_, expected)), array in zip(step.inputs.items(), arrays):
        if getattr(array, "shape", None):
            return (f": input {name!r} came as {list(array.shape)}, expected {list(expected)}. Of single samples a DataLoader makes "
                    f"batches, or of a data set of Hugging Face its iter({expected[0]})")
    return ""


def _spoiled(step, arrays, data):
    """Which input has a number that is not finite, in words; of arrays that only the step can read nothing is said."""
    import numpy

    read = 0
    for name, array in zip(step._names, arrays):
        try:
            array = _data.as_numpy(array)
        except InvalidError:
            continue
        if array.dtype.kind == "f" and not numpy.isfinite(array).all():
            place = numpy.argwhere(~numpy.isfinite(array))[0].tolist()
            sample = data.sample_of(name, array[place[0]]) if place and isinstance(data, _data.Samples) else None
            of = "" if sample is None else f" of the batch, at {place[1:]} of sample {sample} of the data"
            return f"; input {name!r} has {array[tuple(place)]} at {place}{of}"
        read += 1
    return "; all inputs are finite" if read == len(step._names) else ""
