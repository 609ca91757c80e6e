"""What `fit` returns: the figures of epochs, and the report of the run."""

import html
import json
import math
import os
import time
from copy import deepcopy

from . import _training
from ._arrays import NUMPY_NAMES
from ._core import InvalidError
from ._files import whole_file
from ._text import utf8, utf8_json

PIECE = 0.05  # seconds in steps of a point of the throughput


class Records(list):
    """A list with a dictionary for each epoch. A notebook shows it as the report of the run."""

    run = None  # the data of the report, once the run has ended

    def report(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """The page of the run, which `gradus train --report` writes: as text, or written to `path`, which ends in .html;
        a path in .json gets the data of the page alone."""
        if self.run is None:
            raise InvalidError("the run has not ended: there is no report of it yet")
        name = "run.html" if path is None else os.fspath(path)
        if not name.endswith((".html", ".json")):
            raise InvalidError(f"{name}: expected a name that ends in .html, for a page, or in .json, for its data alone")
        text = _training.page(utf8_json(self.run), utf8(name))
        if path is None:
            return text
        with whole_file(path, "w", encoding="utf-8") as file:
            file.write(text)

    def _repr_html_(self):
        if self.run is None:
            return None
        return (f'<iframe srcdoc="{html.escape(self.report())}" sandbox="allow-scripts" title="The report of the run" '
                'style="width: 100%; height: 640px; border: 0"></iframe>')


class Run:
    """Collects what the report of a run says. The data are those of tool/train/run_report.cpp."""

    def __init__(self, step, loop, path):
        self.step, self.loop, self.path = step, loop, None if path is None else os.fspath(path)
        if self.path is not None and not self.path.endswith((".html", ".json")):
            raise InvalidError(f"report: {self.path}: expected a name that ends in .html or .json")
        self.curves, self.remarks, self.test, self.before = _training.curves(), [], {}, (0, 0)
        self.began, self.start, self.piece = time.monotonic(), step.step_count, (0, 0.0)

    def begin(self):
        """Says that the state is where the run goes on from."""
        self.start, self.before = self.loop.at, (self.loop.epoch, self.loop.done)
        self.piece = self.start, 0.0  # the step, and the seconds in steps, at the last point of the throughput

    def add_step(self, at, figures):
        self.curves.add("step", at, figures)
        seconds = self.loop.in_steps - self.piece[1]
        if seconds >= PIECE:
            self.curves.add("piece", at, {"samples_per_second": (at - self.piece[0]) * (self.loop.data.batch or 1) / seconds})
            self.piece = at, self.loop.in_steps

    def add_epoch(self, record, seconds_per_step):
        self.curves.add("epoch", record["step"], {**record["train"], "ms_per_step": seconds_per_step * 1e3})
        if "test" in record:
            self.test = record["test"]
            self.curves.add("test", record["step"], self.test)

    def end(self, how, why):
        """The data of the report, as plain values."""
        return {"name": self.step.metadata("artifact.program") or "", "producer": self.step.metadata("artifact.producer") or "",
                "run": self._facts(how, why), "memory": self._memory(), "curves": json.loads(self.curves.to_json()),
                "scores": [], "worst": None,
                "scores_words": "`gradus train --report` and `gradus evaluate` compare the predictions of test data.",
                "warnings": [{"kind": "warning", "text": words} for words in self.remarks], "recipe": self._recipe()}

    def _facts(self, how, why):
        loop, ran = self.loop, self.loop.at - self.start
        each = loop.data.full_batches or max(loop.at // max(loop.epoch, 1), 1)
        epoch, done = self.before
        return {"ended": how, "why": why, "command": f"step.fit(..., epochs={loop.epochs})", "from_step": self.start,
                "to_step": self.start + (loop.epochs - epoch) * each - done, "steps_per_epoch": each, "batch": loop.data.batch or 1, "seed": str(loop.seed),
                "resumed_from": loop.resumed or "", "data_text": _text(loop.data), "test_data_text": _text(loop.test),
                "schedule": "", "seconds_in_steps": loop.in_steps, "steps": loop.at,
                "test": {name: value if math.isfinite(value) else None for name, value in self.test.items()},
                "training_samples": getattr(loop.data, "samples", None), "test_samples": getattr(loop.test, "samples", None),
                "artifact": self.step._artifact.path or "in memory", "artifact_bytes": self.step._artifact.size(),
                "checkpoint": loop.checkpoint.path if loop.checkpoint else "", "ms_per_step": loop.in_steps / ran * 1e3 if ran else None,
                "device": self.step.metadata("artifact.target"), "seconds": time.monotonic() - self.began,
                "best": loop.judge.metric.text if loop.judge.writes else ""}

    def _memory(self):
        planned = self.step.memory
        sizes = {}
        for role, dtype, shape in self.step.states.values():
            sizes[role] = sizes.get(role, 0) + _bytes(dtype, shape)
        names = {"state": "state", "arena": "arena", "constant": "constants", "code": "code", "predicted": "predicted", "at_load": "at_load"}
        return {"states": [{"role": role, "bytes": size} for role, size in sizes.items()], "measured_bytes": None, "is_of_host": True,
                **{f"{name}_bytes": planned[key] for name, key in names.items()}}

    def _recipe(self):
        """The recipe with the numbers that steps use now."""
        recipe = deepcopy(self.step.recipe)
        for name, (role, _, _) in self.step.states.items():
            *path, last = name.split(".")
            at = recipe
            for key in path:
                at = at.get(key) if isinstance(at, dict) else None
            if role == "number" and isinstance(at, dict):
                at[last] = self.step.get(name)
        return recipe


def _bytes(dtype, shape):
    import numpy

    return math.prod(shape) * numpy.dtype(NUMPY_NAMES[dtype]).itemsize


def _text(data):
    """What the report says of a data set."""
    if data is None:
        return ""
    batches = f"{data.full_batches} batches of {data.batch}" if data.full_batches is not None else f"batches of {data.batch}"
    return f"{data.samples} samples, {batches} an epoch" if hasattr(data, "samples") else batches
