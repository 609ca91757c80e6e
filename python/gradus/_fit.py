"""The loop of training: epochs, tests, checkpoints, early stopping, callbacks."""

import json
import math
import os
import sys
import time
import warnings

from . import _data, _safetensors
from ._core import FailedError, InvalidError
from ._files import whole_file
from ._interrupts import Interrupts

LARGER_IS_BETTER = ("accuracy", "top5", "f1", "r2")  # as training/best_metric.cpp has it, with which a test compares this


def fit(step, data, *, epochs=1, eval=None, best=None, patience=None, checkpoint=None, resume=False, callbacks=(), seed=0,
        shuffle=True, progress=None, prefetch=2):
    """Trains `step` and returns a list with a dictionary for each epoch: {"epoch", "step", "seconds", "train": {...},
    "test": {...}}.

    data        a dictionary or tuple of arrays of all samples, a .safetensors or .npz file, or an iterable of batches
                (tuples, dictionaries), such as a DataLoader. Batches that are not full are left out.
    epochs      counts from the beginning of the training, also where it is resumed. A schedule in parts of the run is as
                long as the first call said: a later one that gives other epochs is warned
    eval        a data set to test on after each epoch
    best        a figure of the test: "accuracy", "loss"; ":min" or ":max" says which is better. The best state is written
                beside the checkpoint as NAME.best.safetensors
    patience    stops after so many tests in succession that are no better
    checkpoint  a file for the newest state: after each epoch, and where Ctrl-C ends the training, between two steps.
                Beside it, NAME.fit.json has the epoch and the figures so far
    resume      True: goes on from `checkpoint`; or a file. With the same epochs, what follows is bitwise that of a run
                that was not stopped; for an iterable, as far as it gives the same batches again
    callbacks   called with each epoch's dictionary; one that returns True ends the training. An object may instead have
                the methods on_step(number, outputs), on_epoch(record) and on_end(records)
    seed        of the order of samples, with the epoch's number; `shuffle`=False keeps the given order
    progress    whether a line on stderr shows how far training is; None: in terminals and notebooks
    prefetch    how many batches of an iterable are read ahead by a thread, which needs batches that are arrays of their
                own: an iterable that fills one buffer again and again is read with 0, when it is asked, by the caller
    """
    loop = _Loop(step, _data.data_set(data, step, step._graph("train").inputs, "data"), epochs, seed, shuffle, prefetch)
    loop.test = None if eval is None else _data.data_set(eval, step, _test_inputs(step, "evaluate")[0], "eval")
    loop.judge = _Judge(best, patience, checkpoint, eval)
    loop.checkpoint = None if checkpoint is None else os.fspath(checkpoint)
    loop.callbacks = list(callbacks) if isinstance(callbacks, (tuple, list)) else [callbacks]
    loop.line = _Line(progress)
    loop.begin(resume)
    return loop.run()


def _hash(path):
    return _safetensors.metadata(path).get("content_hash")


def _notes_name(path):
    return os.path.splitext(path)[0] + ".fit.json"


def _notes(path):
    """What `fit` noted beside a checkpoint, by the hash of the state that it belongs to."""
    try:
        with open(_notes_name(path), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


class _Judge:
    """Which test is the best, and when to stop."""

    def __init__(self, best, patience, checkpoint, test):
        if (best or patience) and test is None:
            raise InvalidError("best= and patience= go by a test: give eval=, a data set to test on")
        if best and checkpoint is None:
            raise InvalidError("best= needs checkpoint=FILE, beside which the best state is written")
        name, _, way = (best or "loss").partition(":")
        if way not in ("", "min", "max"):
            raise InvalidError(f"best: expected NAME, NAME:min or NAME:max, found {best!r}")
        self.name, self.larger = name, way == "max" or (not way and name.rpartition("_")[2] in LARGER_IS_BETTER)
        self.patience, self.value, self.waited, self.writes = patience, None, 0, bool(best)

    def better(self, figures):
        if self.name not in figures:
            raise InvalidError(f"best: the test has no figure {self.name!r}; it has {', '.join(figures)}")
        value = figures[self.name]
        if not math.isnan(value) and (self.value is None or (value > self.value if self.larger else value < self.value)):
            self.value, self.waited = value, 0
            return True
        self.waited += 1
        return False

    @property
    def tired(self):
        return self.patience is not None and self.waited >= self.patience


class _Loop:
    """One training."""

    def __init__(self, step, data, epochs, seed, shuffle, prefetch):
        self.step, self.data, self.epochs = step, data, epochs
        self.seed, self.shuffle, self.prefetch = seed, shuffle, prefetch
        self.epoch, self.done, self.records, self.sums = 0, 0, [], {}
        self.interrupts, self.reader = Interrupts(), None
        self.stops = step.recipe.get("on_nonfinite", "stop") == "stop" and step.metadata("loss_scale") is None

    # -- where it stands ---------------------------------------------------

    def begin(self, resume):
        source = self.checkpoint if resume is True else resume
        if resume is True and self.checkpoint is None:
            raise InvalidError("resume=True needs checkpoint=FILE")
        if source:
            self.restore(os.fspath(source))
        elif self.checkpoint and os.path.exists(self.checkpoint) and os.path.getsize(self.checkpoint):
            raise InvalidError(f"{self.checkpoint}: a checkpoint is there; go on from it (resume=True), or name another file")
        batches = self.data.full_batches
        if batches is not None:
            if batches == 0 and isinstance(self.data, _data.Arrays):
                raise InvalidError(f"data: {self.data.samples} samples fill no batch of {self.data.batch}")
            self.give_length(batches)

    def give_length(self, batches):
        """Tells schedules how long the run is, where the recipe does not. One that was told before keeps its length."""
        recipe = self.step.recipe
        each = int(recipe.get("accumulation") or 1)
        for name, what, length in (("updates", "a run", batches * self.epochs // each), ("updates_per_epoch", "epochs", batches // each)):
            path = f"schedule.{name}"
            if path not in self.step.states or not length:
                continue
            before = self.step.get(path)
            if not before:
                self.step.set(path, length)
            elif before != length and not isinstance((recipe.get("schedule") or {}).get(name), (int, float)):
                warnings.warn(f"the schedule is for {what} of {before:g} updates, and this run has {length}: it goes on as it began; "
                              f"{path} in the recipe, or step.set(\"{path}\", {length}) in a callback, makes it fit this run",
                              stacklevel=5)

    def restore(self, path):
        if not os.path.exists(path):
            raise InvalidError(f"{path}: there is no such checkpoint")
        noted = _notes(path).get(_hash(path))
        if noted is None:
            raise InvalidError(f"{path}: was not written by fit: nothing beside it says which epoch it is in. step.resume(path) "
                               "takes its state, and fit then begins with epoch 1")
        if noted["seed"] != self.seed:
            raise InvalidError(f"{path}: was trained with seed={noted['seed']}, found seed={self.seed}")
        self.step.resume(path)
        for name in ("epoch", "done", "records", "sums"):
            setattr(self, name, noted[name])
        self.judge.value, self.judge.waited = noted["best"], noted["waited"]

    def save(self, path):
        """Writes the state, and beside it what `fit` goes on with. At each moment the notes have an entry for the state
        that is there: that of the old one stays until the new one is in its place."""
        noted = {"epoch": self.epoch, "done": self.done, "records": self.records, "sums": self.sums, "seed": self.seed,
                 "best": self.judge.value, "waited": self.judge.waited}
        whole = f"{path}.gradus-state"
        try:
            self.step.save_checkpoint(whole)
            new, old = _hash(whole), _hash(path) if os.path.exists(path) else None
            notes = {new: noted, **{name: each for name, each in _notes(path).items() if name == old != new}}
            with whole_file(_notes_name(path), "w", encoding="utf-8") as file:
                json.dump(notes, file)
            os.replace(whole, path)
        finally:
            if os.path.exists(whole):
                os.unlink(whole)

    # -- running -----------------------------------------------------------

    def run(self):
        try:
            with self.interrupts:
                self.run_epochs()
        finally:  # after the state was saved: what is read may wait for long
            if self.reader is not None:
                self.reader.close()
        self.call("on_end", self.records)
        return self.records

    def run_epochs(self):
        try:
            while self.epoch < self.epochs and not self.judge.tired:
                if self.run_epoch():
                    break
        except KeyboardInterrupt:
            self.line.end()
            if not self.checkpoint:
                raise
            with self.interrupts.held:
                self.save(self.checkpoint)
            raise KeyboardInterrupt(f"after step {self.done} of epoch {self.epoch + 1}; the state is in {self.checkpoint}, "
                                    "from which resume=True goes on") from None

    def run_epoch(self):
        start = time.monotonic()
        self.run_batches()
        record = {"epoch": self.epoch + 1, "step": self.step.step_count, "seconds": time.monotonic() - start,
                  "train": {name: total / self.done for name, total in self.sums.items()}}
        if self.test is not None:
            record["test"] = evaluate(self.step, self.test)
        with self.interrupts.held:
            self.end_epoch(record)
        self.line.epoch(record, self.epochs)
        return self.call("on_epoch", record)

    def end_epoch(self, record):
        """Counts a tested epoch and saves. The best state is in its file before a checkpoint says that there is one."""
        if self.test is not None and self.judge.better(record["test"]) and self.judge.writes:
            self.step.save_checkpoint(os.path.splitext(self.checkpoint)[0] + ".best.safetensors")
        self.records.append(record)
        self.epoch, self.done, self.sums = self.epoch + 1, 0, {}
        if self.checkpoint:
            self.save(self.checkpoint)

    def run_batches(self):
        batches = self.data.epoch(self.seed, self.epoch, self.shuffle, self.done)
        if self.prefetch > 0:
            batches = self.reader = _data.Prefetched(iter(batches), self.prefetch)
        before, left_out = self.done, None
        for batch in batches:
            arrays = self.step._matched(batch)
            if _data.is_full(arrays, self.data.batch):
                self.run_step(arrays)
            else:
                left_out = arrays
        if self.done == before == 0:
            raise InvalidError(f"data: epoch {self.epoch + 1} has no full batch" + _smaller(self.step, left_out))

    def run_step(self, arrays):
        figures = {}
        with self.interrupts.held:
            out = self.step(*arrays)
            self.done += 1
            for name in out:
                value = out[name]
                if isinstance(value, (int, float)):
                    figures[name] = value
                    self.sums[name] = self.sums.get(name, 0) + value
        if self.stops and not math.isfinite(figures.get("loss", 0)):
            raise FailedError(f"epoch {self.epoch + 1}, step {self.done}: the loss is {figures['loss']}" + _spoiled(self.step, arrays)
                              + ". The recipe's on_nonfinite says what then happens (stop, skip, continue)")
        self.line.step(self, figures)
        self.call("on_step", self.done, out)

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


def _smaller(step, arrays):
    """What was found where a full batch was expected, in words."""
    if arrays is None:
        return ": nothing came"
    for (name, (_, expected)), array in zip(step.inputs.items(), arrays):
        if getattr(array, "shape", None):
            return (f": input {name!r} came as {list(array.shape)}, expected {list(expected)}. Of single samples a DataLoader makes "
                    f"batches, or of a data set of Hugging Face its iter({expected[0]})")
    return ""


def _spoiled(step, arrays):
    """Which input has a number that is not finite, in words."""
    import numpy

    for name, array in zip(step._names, arrays):
        array = _data.as_numpy(array)
        if array.dtype.kind == "f" and not numpy.isfinite(array).all():
            place = numpy.argwhere(~numpy.isfinite(array))[0].tolist()
            return f"; input {name!r} has {array[tuple(place)]} at {place}"
    return "; all inputs are finite"


def _test_inputs(step, graph):
    """The inputs of an evaluating graph: those of the data, and whether it takes the number of real samples."""
    if graph not in step.graphs:
        raise InvalidError(f"the artifact has no graph {graph!r}; it has {', '.join(step.graphs)}")
    inputs = step._graph(graph).inputs
    if not inputs:
        raise InvalidError(f"the graph {graph!r} takes no inputs: there is nothing to evaluate it on")
    counted = bool(inputs) and inputs[-1] == ("count", "i64", ())
    return (inputs[:-1] if counted else inputs), counted


def evaluate(step, data, name="evaluate"):
    """Means over all samples, each batch weighted by its samples; of the labels that the loss ignores there are none."""
    inputs, counted = _test_inputs(step, name)
    graph, names = step._graph(name), [input_name for input_name, _, _ in inputs]
    if not isinstance(data, (_data.Arrays, _data.Batches)):
        data = _data.data_set(data, step, inputs, "data")
    full, sums, weight, left_out = _data.batch_of(inputs), {}, 0, 0
    label, ignored = step._labels()
    place = names.index(label) if ignored is not None and label in names else None
    for batch in data.in_order():
        arrays = step._matched(batch, names, f"the graph {name}")
        count = _data.samples_of(arrays) or full or 1
        if full is not None and count < full:
            if not counted:
                left_out += count
                continue
            arrays = _data.filled(arrays, inputs, full)
        share = count
        if counted and place is not None:  # samples, without those whose label is ignored
            share = int((_data.as_numpy(arrays[place])[:count] != ignored).sum())
        if share == 0:
            continue
        out = graph.step(*arrays, *([count] if counted else []))
        for output in out:
            value = out[output]
            if isinstance(value, (int, float)):
                sums[output] = sums.get(output, 0) + value * share
        weight += share
    if left_out:
        warnings.warn(f"{left_out} samples are in none of the figures: this graph takes full batches of {full} alone", stacklevel=3)
    if weight == 0:
        raise InvalidError("data: there is no sample to evaluate")
    return {output: total / weight for output, total in sums.items()}


class _Line:
    """The line that shows how far training is, on stderr: rewritten in terminals and notebooks."""

    def __init__(self, shown):
        self.shown = (sys.stderr.isatty() or "ipykernel" in sys.modules) if shown is None else shown
        self.last, self.width = 0.0, 0

    def step(self, loop, figures):
        now = time.monotonic()
        if not self.shown or now - self.last < 0.1:
            return
        self.last = now
        of = loop.data.full_batches
        self.write(f"epoch {loop.epoch + 1}/{loop.epochs}  step {loop.done}" + (f"/{of}" if of else "") + _texts(figures))

    def epoch(self, record, epochs):
        if self.shown:
            test = "  test" + _texts(record["test"]) if "test" in record else ""
            self.write(f"epoch {record['epoch']}/{epochs}" + _texts(record["train"]) + test + f"  {record['seconds']:.1f} s")
            self.end()

    def write(self, text):
        sys.stderr.write("\r" + text.ljust(self.width))
        sys.stderr.flush()
        self.width = len(text)

    def end(self):
        if self.shown and self.width:
            sys.stderr.write("\n")
            self.width = 0


def _texts(figures):
    return "".join(f"  {name} {value:.4f}" for name, value in figures.items())
