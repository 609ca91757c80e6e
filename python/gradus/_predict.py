"""Predictions: outputs of the model for any number of samples, without labels."""

import contextlib
from collections.abc import Mapping

from . import _arrays
from ._arrays import NUMPY_NAMES, as_numpy, positional
from ._core import InvalidError
from ._data import filled, fitting, samples_of

AVERAGE = "ema/average/"  # how the states begin that average a parameter


class Predictions(dict):
    """Outputs by name, also as attributes."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def predict(step, inputs, named):
    """What the graph `predict` gives. Where one of its outputs is the loss, the inputs that the loss alone takes may be
    left out: they are filled with zeros, and the loss is left out, too."""
    graph = step._graph("predict")
    loss, alone = step._loss_of_model() or None, step.loss_inputs
    if len(graph.outputs) == 1:
        loss, alone = None, ()
    wanted = [name for name, _, _ in graph.inputs if name not in alone]
    given = inputs[0] if len(inputs) == 1 and not named and isinstance(inputs[0], (Mapping, tuple, list)) else named or inputs
    whole = alone and (any(name in given for name in alone) if isinstance(given, Mapping) else len(given) > len(wanted))
    if whole or not alone:
        wanted = [name for name, _, _ in graph.inputs]
    arrays = positional(wanted, inputs, named, "the graph predict")
    if len(arrays) != len(wanted):
        raise InvalidError(f"predict takes {_counted(wanted)}, found {len(arrays)}" + _labels_are_missing(graph, loss, alone))
    arrays = dict(zip(wanted, map(_arrays.bits, arrays)))
    return _outputs(graph, arrays, loss, gives_loss=whole or not alone)


def loss_inputs(step, needed):
    """The inputs of a module that its loss alone takes: its labels. `needed` has those that each output depends on."""
    loss = step._loss_of_model()
    if loss not in needed:
        return ()
    others = {name for output, names in needed.items() if output != loss for name in names}
    return tuple(name for name, _, _ in step._graph("predict").inputs if name in needed[loss] and name not in others)


def _counted(names):
    return f"{len(names)} input{'' if len(names) == 1 else 's'} ({', '.join(names)})"


def _labels_are_missing(graph, loss, alone):
    """What to do where the model computes its loss, and what its labels are is not known."""
    if loss is None or alone:
        return ""
    return ("; the model computes its loss itself, and which of these the loss alone takes was known where the step was compiled from the "
            "module: give all of them, or step.copy_to(module) and run that in PyTorch")


def _outputs(graph, given, loss, gives_loss):
    """The outputs for any number of samples. An input that is not given is zeros. `loss` is the output that is the loss: of
    several batches there is none, and of one where it `gives_loss`."""
    import numpy

    inputs = graph.inputs
    arrays = [given[name] if name in given else numpy.zeros(shape, NUMPY_NAMES[dtype]) for name, dtype, shape in inputs]
    shapes = [shape for name, _, shape in inputs if name in given]
    batch = shapes[0][0] if shapes and shapes[0] else None
    count = samples_of(given.values())
    described = [each for each in graph.outputs if each[0] != loss]
    if count == 0:
        return Predictions((name, numpy.empty((0, *shape[1:]), NUMPY_NAMES[dtype])) for name, dtype, shape in described)
    if batch is None or count is None or count == batch or not all(shape[:1] == (batch,) for shape in shapes):
        out = graph.step(*arrays)
        return out if loss is None or gives_loss else Predictions((name, out[name]) for name, _, _ in described)
    for name, _, shape in described:
        if shape[:1] != (batch,):
            raise InvalidError(f"output {name!r} has no axis of samples: give exactly {batch} samples, found {count}")
    parts = {}
    for start in range(0, count, batch):
        rows = [_rows(array, each, given, start, batch) for array, each in zip(arrays, inputs)]
        real = min(batch, count - start)
        out = graph.step(*(rows if real == batch else filled(rows, inputs, batch)))
        for name, _, _ in described:
            parts.setdefault(name, []).append(out[name][:real])
    return Predictions((name, numpy.concatenate(values)) for name, values in parts.items())


def _rows(array, described, given, start, batch):
    name, dtype, shape = described
    return fitting(name, as_numpy(array), shape, dtype)[start : start + batch] if name in given else array


def averages(step):
    """The parameters that have an average, with its state: {"fc.weight": "ema/average/fc.weight"}."""
    found = {name[len(AVERAGE):]: name for name in step.states if name.startswith(AVERAGE)}
    if not found:
        raise InvalidError("the step keeps no averages of its weights: compile it with ema=0.999, or another decay")
    return found


@contextlib.contextmanager
def averaged(step):
    """The step with its averaged weights in place of the parameters. Before the first update there are no averages, and
    the parameters stay."""
    found = averages(step)
    if step.step_count == 0:
        yield
        return
    kept = {name: step._session.read(name) for name in found}
    try:
        for name, average in found.items():
            step._session.write(name, step._session.read(average))
        yield
    finally:
        for name, array in kept.items():
            step._session.write(name, array)
