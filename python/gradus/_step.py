"""A compiled training step: runs it, shows its state, saves it."""

from __future__ import annotations

import json
import math
import os
import shutil

from . import _arrays, _core
from ._arrays import positional
from ._core import InvalidError
from ._files import existing, in_folder, whole_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ._core import Outputs
    from ._records import Records

# Roles of states, as `gradus.h` has them.
MODEL_ROLES = ("parameter", "buffer")
OPTIMIZER_ROLES = ("slot", "counter", "hyperparameter", "seed")


def load(source, *, state=None, threads=0, device="cpu", deterministic=False, trust=False, collectives=None) -> Step:
    """Loads an artifact (a .gradus file, or its bytes) as a Step.

    `state` is a checkpoint (.safetensors file or bytes) to begin with, instead of the artifact's initial values.
    `threads` is how many compute, 0: one for each core that this process may use. `device` is "cpu", "cuda", "cuda:1".
    `deterministic`: bits do not depend on the number of threads. `trust`: hashes of weights are not checked.
    Raises InvalidError for a file that is no artifact, or is damaged.
    """
    path = data = None
    if isinstance(source, (str, os.PathLike)):
        path = existing(os.fspath(source))
    else:
        data = bytes(source) if isinstance(source, (bytearray, memoryview)) else source
    while True:
        artifact = _Artifact(path, data)
        try:
            session = _core.load(path, data, threads, deterministic, device, trust, collectives)
        except BaseException:
            artifact.close()
            raise
        if artifact.is_current():
            break
        artifact.close()  # the file was replaced meanwhile, and the session may be the other one's
        session.close()
        if not os.path.isfile(path):
            raise InvalidError(f"{path}: expected a regular file")
    step = Step(session, artifact)
    if state is not None:
        step.resume(state)
    return step


class _Artifact:
    """The artifact that a step was loaded from, for saving and looking at it. A file is held open, so that it may be
    removed; its initial weights are not in memory a second time."""

    def __init__(self, path, data):
        self.path, self.data = path, data
        self.file = None
        if path is not None and os.path.isfile(path):  # what is no file is left to the loader to refuse
            self.file = open(path, "rb")

    def copy_to(self, path):
        with whole_file(path) as target:
            if self.file is None:
                target.write(self.data)
            else:
                self.file.seek(0)
                shutil.copyfileobj(self.file, target, 1 << 20)

    def size(self):
        """How many bytes it has."""
        return len(self.data) if self.file is None else os.fstat(self.file.fileno()).st_size

    def is_current(self):
        """Whether the path still names the file that is held open."""
        if self.path is None:
            return True
        try:
            return self.file is not None and os.path.samestat(os.stat(self.path), os.fstat(self.file.fileno()))
        except FileNotFoundError:
            return True  # removed, not replaced: what is held open is what was loaded

    def source(self):
        """Path and bytes, as the compiler takes them: it tells what a path is by its ending, and bytes by themselves."""
        if self.file is None:
            return None, self.data
        if not self.path.endswith(".gradus"):
            self.file.seek(0)
            return None, self.file.read()
        if self.is_current() and os.path.exists(self.path):
            return self.path, None
        self.file.seek(0)
        return self.path, self.file.read()

    def close(self):
        if self.file is not None:
            self.file.close()
        self.data = None

    def __del__(self):
        if getattr(self, "file", None) is not None:
            self.file.close()


class Step:
    """One training step with its state: parameters, running statistics, optimizer.

    `compile` and `load` make it. One thread at a time may use a step; different steps are independent. While it
    runs, Python's lock is free.
    """

    diagnostics: list[Any]  # what the compiler said, of a compiled step
    names: dict[str, str]  # of a PyTorch module's parameters and buffers: their states
    title: str | None  # a PyTorch module's class
    loss_inputs: tuple[str, ...]  # those of a module that its loss alone takes: labels

    def __init__(self, session, artifact):
        self._session, self._artifact = session, artifact
        self._graphs, self._outline, self._own_loss = {}, None, None
        self._names = ()
        self._run = self._unavailable
        if "train" in session.graphs():
            train = self._graph("train")
            self._names = tuple(name for name, _, _ in train.inputs)
            has_bf16 = any(dtype == "bf16" for _, dtype, _ in train.inputs)
            self._run = (lambda *inputs: train.step(*map(_arrays.bits, inputs))) if has_bf16 else train.step
        self._count = len(self._names)
        self.diagnostics, self.names, self.title, self.loss_inputs = [], {}, None, ()

    def __setattr__(self, name, value):
        if not name.startswith("_") and name not in Step.__annotations__ and not hasattr(Step, name):
            raise AttributeError(f"a step has no attribute {name!r} to set; a state is written as step[\"{name}.weight\"] = array")
        object.__setattr__(self, name, value)

    # -- running -----------------------------------------------------------

    def __call__(self, *inputs, **named) -> Outputs:
        """Runs one training step and returns its outputs (out.loss, out.accuracy).

        `inputs` are arrays in the order of `step.inputs`, keywords, or one dictionary; of numpy, PyTorch (on the CPU)
        or any library with DLPack, dense, and of the shapes and types that were compiled. Integers may be narrower.
        """
        if named or self._count != len(inputs) or (inputs and type(inputs[0]) in (dict, tuple, list)):
            if "train" not in self._graphs:
                self._unavailable()
            inputs = positional(self._names, inputs, named, "the training step")
        try:
            return self._run(*inputs)
        except InvalidError as error:
            self._say_batch(error, inputs)
            raise

    def steps(self, batches, window=64) -> list[Outputs]:
        """Runs a step for each batch of an iterable, several without coming back to Python, and returns the list of
        their outputs. Ctrl-C ends it between steps. Whatever ends it early, the exception has `outputs`, those of the
        steps that ran, and `left`, the batches that were taken from the iterable and did not run.

        `window` is how many batches are held at once.
        """
        graph, done, some, before = self._graph("train"), [], [], 0
        try:
            for batch in batches:
                some.append(self._matched(batch))
                if len(some) == window:
                    graph.steps(some, done)
                    some, before = [], len(done)
            if some:
                graph.steps(some, done)
        except BaseException as error:
            error.outputs, error.left = done, some[len(done) - before :]
            if error.left and isinstance(error, InvalidError):
                self._say_batch(error, error.left[0])
            raise
        return done

    def _say_batch(self, error, arrays):
        """Adds to an error what to do where the arrays are a batch of another size."""
        if "train" not in self._graphs:
            return
        for (_, _, shape), array in zip(self._graphs["train"].inputs, arrays):
            found = tuple(getattr(array, "shape", ()))
            if shape and len(found) == len(shape) and found[0] != shape[0] and found[1:] == shape[1:]:
                error.args = (f"{error}. Batches have {shape[0]} samples here, as the example or dims had when the step was compiled; of a "
                              f'module, dynamic=True with dims={{"batch": {found[0]}}} says another size',)
                return

    def _matched(self, batch, names=None, what="the training step"):
        """The arrays of a batch (a tuple, a list, a dictionary or one array) in the order of inputs."""
        names = self._names if names is None else names
        if hasattr(batch, "keys") and not _arrays.is_array(batch):  # also HF's BatchEncoding, which is no Mapping
            given = {key: batch[key] for key in batch.keys()}
            found = positional(names, (), {name: given[name] for name in names if name in given}, what)
        else:
            found = positional(names, (batch,), {}, what)
        return [_arrays.bits(array) for array in found]

    def predict(self, *inputs, ema=False, **named) -> Any:
        """Runs the model on any number of samples and returns its outputs.

        `inputs` are as those of a step, without labels. Where their first axis is not the batch size, batches are
        made of them, the last one filled up, and each output is the array of all samples. Where the loss is exported with
        a module (a callable), the module's own outputs are given. `ema`: of the averaged weights, which stand in place of
        the parameters meanwhile, in views of them, too.
        """
        from ._predict import averaged, predict

        if not ema:
            return predict(self, inputs, named)
        with averaged(self):
            return predict(self, inputs, named)

    def evaluate(self, data, *, ema=False) -> dict[str, Any]:
        """Means of loss and metrics over a data set: a dictionary.

        `data` is what `fit` takes. The last batch may be smaller. `ema`: of the averaged weights.
        """
        from ._evaluate import evaluate

        if ema:
            from ._predict import averages

            averages(self)
        return evaluate(self, data, "evaluate_ema" if ema else "evaluate")

    def fit(self, data, *, epochs=1, eval=None, validation=None, best=None, patience=None, checkpoint=None, resume=False,
            overwrite=False, callbacks=(), seed=None, shuffle=True, progress=None, prefetch=2, log=None, tensorboard=None,
            report=None) -> Records:
        """Trains on a data set and returns a list with a dictionary for each epoch: {"epoch", "step", "seconds", "train":
        {...}, "test": {...}}. A notebook shows it as the report of the run, which `.report("run.html")` writes. Whatever
        ends it early, the exception has them as `records`.

        data        what `gradus train --data` takes: a file or folder, or a list of them ("image=FILE"), prepared and
                    augmented as the recipe says; a dictionary or tuple of arrays of all samples, taken as they are; or
                    an iterable of batches (tuples, dictionaries), such as a DataLoader. Batches that are not full are
                    left out, unless the recipe's inputs.last_batch says otherwise
        epochs      counts from the beginning of the training, also where it is resumed. A schedule in parts of the run
                    is as long as the first call said: a later one that gives other epochs is warned
        eval        a data set to test on after each epoch
        validation  a part of `data`, such as 0.1, to test on instead: files or arrays, of which the seed chooses the
                    samples, as `gradus train --validation` does. The rest is trained on; `shuffle`=False keeps the
                    order of that choice
        best        a figure of the test: "accuracy", "loss"; ":min" or ":max" says which is better. Needs `checkpoint`,
                    beside which the best state is written as NAME.best.safetensors: `resume` goes on from it, and
                    step.resume(file) takes it alone
        patience    stops after so many tests in succession that are no better: 1 or more. The step then has the last
                    state, not the best one
        checkpoint  a file for the newest state: after each epoch, and where Ctrl-C ends the training, between two
                    steps. Beside it, NAME.fit.json has the epoch and the figures so far
        resume      True: goes on from `checkpoint`; "auto": where there is one; or a file, also one of `gradus train`
                    with the same data. With the same epochs, what follows is bitwise that of a run that was not
                    stopped; for an iterable, as far as it gives the same batches again
        overwrite   True: replaces the checkpoint, the best state, the log and the report of another run, which are
                    otherwise refused
        callbacks   called with each epoch's dictionary; one that returns True ends the training. An object may instead
                    have the methods on_step(number, outputs), on_epoch(record) and on_end(records), the last one
                    however the run ends
        seed        of the order of samples, with the epoch's number, and of what the recipe augments; None: the
                    recipe's. `shuffle`=False keeps the given order
        progress    whether a line on stderr shows how far training is; None: in terminals and in notebooks
        prefetch    how many batches of an iterable are read ahead by a thread, which needs batches that are arrays of
                    their own: an iterable that fills one buffer again and again is read with 0, when it is asked, by
                    the caller
        log         a file of JSON lines, a step or an epoch each, as `gradus train --log` writes them. A step that has
                    made steps goes on in it: lines of steps before stay. One with later steps is another run's
        tensorboard a folder for TensorBoard's events of the same figures
        report      a file for the report of the run (.html, or .json for its data), written however the run ends
        """
        from ._fit import fit
        from ._tracebacks import without_own_frames

        try:
            return fit(self, data, epochs=epochs, eval=eval, validation=validation, best=best, patience=patience, checkpoint=checkpoint,
                       resume=resume, overwrite=overwrite, callbacks=callbacks, seed=seed, shuffle=shuffle, progress=progress,
                       prefetch=prefetch, log=log, tensorboard=tensorboard, report=report)
        except BaseException as error:
            raise without_own_frames(error)

    def bind(self, name, array) -> None:
        """Lets steps read the input `name` from an array's memory when it is given as None; None unbinds it."""
        self._graph("train").bind(name, array)

    def cancel(self) -> None:
        """Ends `steps` of another thread after its current step, or lets the next step fail, with CancelledError."""
        self._session.cancel()

    # -- what it is --------------------------------------------------------

    @property
    def inputs(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Name -> (dtype, shape) of the inputs of a training step."""
        return _described(self._graph("train").inputs)

    @property
    def outputs(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Name -> (dtype, shape) of the outputs of a training step."""
        return _described(self._graph("train").outputs)

    @property
    def states(self) -> dict[str, tuple[str, str, tuple[int, ...]]]:
        """Name -> (role, dtype, shape) of each state: parameters, buffers, optimizer slots, counters, numbers."""
        return {name: (role, dtype, shape) for (name, dtype, shape), role in self._session.states()}

    @property
    def graphs(self) -> tuple[str, ...]:
        """The names of the graphs: ("predict", "train", "evaluate")."""
        return self._session.graphs()

    @property
    def recipe(self) -> dict[str, Any]:
        """The recipe with all defaults, as a dictionary. It is a copy: `set` changes a number."""
        from ._recipe import Recipe

        return json.loads(self._session.recipe(), object_hook=Recipe)

    def metadata(self, key) -> Any:
        """What the artifact says under a key, such as "inputs.normalize" or "artifact.classes"; None: nothing."""
        text = self._session.metadata(key)
        return None if text is None else json.loads(text)

    @property
    def memory(self) -> dict[str, int]:
        """Bytes of the state, the arena, constants and code, as planned when it was compiled."""
        return self._session.memory()

    @property
    def step_count(self) -> int:
        """How many steps the state has seen; 0 where the artifact counts none."""
        states = self.states
        return int(self._session.read("step")) if "step" in states else 0

    # -- state -------------------------------------------------------------

    def __getitem__(self, name) -> Any:
        """A state as a numpy array that shows the step's own memory: each step changes it, and what is written to it
        counts from the next step on. On another device than the CPU it is a copy that can only be read."""
        role = self._role(name)
        if role in ("number", "copy", "place", "fixed"):
            return self._session.read(name)
        return self._session.view(name)

    def __setitem__(self, name, value) -> None:
        """Writes a whole state."""
        self._role(name)
        self._session.write(name, _arrays.bits(value) if _arrays.is_array(value) else _like(self.states[name], value))

    def _ipython_key_completions_(self):
        return list(self.states)

    def _role(self, name):
        if not isinstance(name, str):
            raise InvalidError(f"a state's name is a string, such as step[\"fc.weight\"]; found {name!r}")
        states = self.states
        if name not in states:
            from ._errors import MissingStateError
            from ._keywords import near

            raise MissingStateError(f"no state is called {name!r}" + near(name, states))
        return states[name][0]

    def set(self, path, number) -> None:
        """Sets a number of the recipe from the next step on: set("optimizer.learning_rate", 0.05)."""
        self._session.set_number(self._number(path), number)

    def get(self, path) -> float:
        """The number of the recipe that steps use now."""
        return self._session.number(self._number(path))

    def _number(self, path):
        """A path that a state has. The runtime's words for others name the artifact, which may be one of the cache."""
        states = self.states
        if isinstance(path, str) and path not in states:
            numbers = [name for name, (role, _, _) in states.items() if role == "number"]
            from ._keywords import near

            raise InvalidError(f"the step has no number {path}; it has {', '.join(numbers) or 'none'}" + near(path, numbers))
        return path

    def state_dict(self) -> dict[str, Any]:
        """Copies of parameters and buffers by name, as numpy arrays."""
        return self._copies(MODEL_ROLES)

    def optimizer_state(self) -> dict[str, Any]:
        """Copies of the optimizer's slots, counters and the like by name."""
        return self._copies(OPTIMIZER_ROLES)

    def _copies(self, roles):
        return {name: self._session.read(name) for name, (role, _, _) in self.states.items() if role in roles}

    def load_state_dict(self, values, strict=True) -> None:
        """Writes states by name, of arrays of any library; also what the state_dict() of the module that was compiled
        gives. `strict`: all parameters and buffers must be there, and nothing else but the counts of batches that PyTorch's
        normalizations keep. No state has changed where one of them is refused."""
        states = self.states
        values = {self.names.get(name, name): value for name, value in values.items()
                  if name in states or not f".{name}".endswith(".num_batches_tracked")}
        unknown = [name for name in values if name not in states]
        missing = [name for name, (role, _, _) in states.items() if role in MODEL_ROLES and name not in values]
        if strict and (unknown or missing):
            words = [f"not in the step: {', '.join(unknown)}"] if unknown else []
            words += [f"missing: {', '.join(missing)}"] if missing else []
            raise InvalidError("; ".join(words) + "; strict=False passes over these")
        arrays = {name: _arrays.as_numpy(value) for name, value in values.items() if name in states}
        for name, array in arrays.items():
            _, dtype, shape = states[name]
            if tuple(array.shape) != shape:
                raise InvalidError(f"state {name!r}: expected shape {shape}, found {tuple(array.shape)}")
            if not _arrays.fits(array.dtype, dtype):
                raise InvalidError(f"state {name!r}: expected {dtype}, found {array.dtype}")
        self._write_all(arrays, states)

    def _write_all(self, arrays, states):
        """Writes arrays that fit. Roles other than those of a model and an optimizer may refuse a value: they come first,
        and get back what they had."""
        rest = {name: self._session.read(name) for name in arrays if states[name][0] not in MODEL_ROLES}
        written = []
        try:
            for name in [*rest, *(name for name in arrays if name not in rest)]:
                written.append(name)
                self._session.write(name, arrays[name])
        except BaseException:
            for name in written[:-1]:
                if name in rest:
                    self._session.write(name, rest[name])
            raise

    def copy_to(self, module, *, ema=False) -> Any:
        """Copies trained weights and running statistics into a PyTorch module of the same names. `ema`: the averaged
        weights in place of the trained ones."""
        import torch

        from ._predict import averages

        targets = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        renamed = {state: name for name, state in self.names.items()}
        states = {state: (renamed.get(state, state), dtype, shape) for state, (role, dtype, shape) in self.states.items()
                  if role in MODEL_ROLES}
        left = [state for state, (name, _, _) in states.items() if name not in targets]
        if left:
            raise InvalidError(f"the module has no parameter or buffer for: {', '.join(left)}")
        for state, (name, _, shape) in states.items():
            if tuple(targets[name].shape) != shape:
                raise InvalidError(f"state {state!r} is of shape {shape}, and the module's {name!r} of {tuple(targets[name].shape)}")
        averaged = averages(self) if ema else {}
        if self.step_count == 0:
            averaged = {}  # there is none before the first update
        with torch.no_grad():
            for state, (name, dtype, _) in states.items():
                targets[name].copy_(_arrays.as_torch(self._session.read(averaged.get(state, state)), dtype))
        return module

    def reset(self) -> None:
        """Gives each state its value from right after loading."""
        self._session.reset()

    # -- files -------------------------------------------------------------

    def save(self, path, *, state=True) -> None:
        """Writes the artifact (`path` ends in .gradus), which `gradus train` and the C API run, and the state beside it
        (the same name in .safetensors), unless `state` is False; of a path in .safetensors, the state alone."""
        path = os.fspath(path)
        if path.endswith(".safetensors"):
            return self.save_checkpoint(path)
        if not path.endswith(".gradus"):
            raise InvalidError(f"{path}: an artifact's name ends in .gradus, a checkpoint's in .safetensors")
        self._alive()
        self._artifact.copy_to(path)
        if state:
            self.save_checkpoint(path[: -len(".gradus")] + ".safetensors")

    def save_checkpoint(self, path=None) -> bytes | None:
        """Writes the whole state to a .safetensors file, atomically; without a path returns its bytes."""
        return self._session.save_checkpoint(path if path is None else in_folder(path))

    def resume(self, source) -> None:
        """Reads the whole state from a checkpoint, a file or bytes: what follows is bitwise that of a run that was never
        stopped. Nothing has changed where it does not fit."""
        self._session.load_checkpoint(_existing(source))

    load_checkpoint = resume

    def load_weights(self, source) -> None:
        """Reads the parameters and buffers that a .safetensors file (or bytes) has, and leaves the rest: fine-tuning."""
        self._session.load_weights(_existing(source))

    def ir(self, stage="gradients") -> str:
        """The program after a stage of the compiler ("model", "gradients", "methods", "update", ...), as text. Needs the
        compiler, and an artifact that carries its program."""
        from ._compile import inspect_ir

        self._alive()
        return inspect_ir(self._artifact.source(), stage)

    def report(self, path=None) -> str | None:
        """The compiler's report as a page of HTML: written to `path`, or returned as text."""
        from ._tool import report

        self._alive()
        return report(self._artifact, path)

    # -- its life ----------------------------------------------------------

    def close(self) -> None:
        """Frees the step's memory, once no array shows it any more. Later calls raise InvalidError."""
        self._session.close()
        self._artifact.close()

    def _alive(self):
        if self._session.closed:
            raise InvalidError("this step was closed")

    def __enter__(self) -> Step:
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def __reduce__(self):
        raise TypeError("a Step cannot be pickled: it has memory and threads of its own. Save it (step.save, "
                        "step.save_checkpoint) and load it where it is needed")

    def __copy__(self):
        raise TypeError("a Step cannot be copied; load its artifact once more, and give it save_checkpoint()'s bytes")

    def __deepcopy__(self, memo):
        return self.__copy__()

    def __repr__(self):
        if self._session.closed:
            return "<gradus.Step, closed>"
        inputs = ", ".join(f"{name} {dtype}{list(shape)}" for name, (dtype, shape) in self.inputs.items()) if self._names else ""
        outputs = f" -> {', '.join(self.outputs)}" if "train" in self.graphs else ""
        count = sum(math.prod(shape) for role, _, shape in self.states.values() if role == "parameter")
        name = self.title or self.metadata("artifact.program") or ""
        return f"<gradus.Step {name}({inputs}){outputs}; {count:,} parameters>"

    def _graph(self, name):
        if name not in self._graphs:
            graph = self._session.graph(name)
            self._graphs[name] = graph
            self._limit(graph, name)
        return self._graphs[name]

    def _labels(self):
        """The input with the labels of the loss, and the one that the loss ignores; None: none."""
        loss = self.metadata("loss")
        loss = loss if isinstance(loss, dict) else {}
        ignored = loss.get("ignore_index")
        return loss.get("label") or "label", ignored if isinstance(ignored, int) else None

    def _loss_of_model(self):
        """The name of the output of the model that is the loss itself; "": the recipe's loss is computed from outputs and
        labels."""
        if self._own_loss is None:
            loss = self.recipe.get("loss")
            is_output = isinstance(loss, dict) and loss.get("type") == "output"
            self._own_loss = (loss.get("output") or "loss") if is_output else ""
        return self._own_loss

    def _unavailable(self, *inputs):
        raise InvalidError("this artifact has no graph \"train\": it was compiled for inference")

    def _limit(self, graph, name):
        """Tells a graph which integers its inputs may have: labels are classes, tokens rows of a table."""
        classes = self.metadata("artifact.classes")
        if isinstance(classes, int):
            label, ignored = self._labels()
            graph.limit(label, 0, classes, ignored if ignored is not None else 0)
        for input_name, size in ((self.metadata("artifact.indices") or {}).get(name) or {}).items():
            graph.limit(input_name, -size, size, 0)


def _existing(source):
    """A path of a file that is there, or bytes."""
    return existing(source) if isinstance(source, (str, os.PathLike)) else source


def _described(tensors):
    return {name: (dtype, shape) for name, dtype, shape in tensors}


def _like(state, value):
    """A Python number or nested list as the array that a state takes."""
    import numpy

    _, dtype, _ = state
    if dtype == "bf16":
        return _arrays.bf16_bits(value)
    return numpy.asarray(value, _arrays.NUMPY_NAMES[dtype], order="C")
