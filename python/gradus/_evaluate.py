"""Tests: means of loss and metrics over all samples of a data set, each batch given to its graph where it lies."""

from . import _data, _training
from ._arrays import as_numpy, fits
from ._core import InvalidError
from ._tracebacks import warn


def test_inputs(step, graph):
    """The inputs of an evaluating graph that come from the data: not the number of real samples."""
    if graph not in step.graphs:
        raise InvalidError(f"the artifact has no graph {graph!r}; it has {', '.join(step.graphs)}")
    inputs = step._graph(graph).inputs
    if not inputs:
        raise InvalidError(f"the graph {graph!r} takes no inputs: there is nothing to evaluate it on")
    return inputs[:-1] if inputs[-1] == ("count", "i64", ()) else inputs


def evaluate(step, data, name="evaluate", tell=None):
    """Means over all samples, each batch weighted by its samples; of the labels that the loss ignores there are none.
    `tell` gets what is to be noted; None: the user is warned."""
    tell = tell or warn
    inputs = test_inputs(step, name)
    if not isinstance(data, (_data.Samples, _data.Batches)):
        data = _data.data_set(data, step, name, inputs, "data")
        for words in getattr(data, "remarks", ()):
            tell(words)
    graph = step._graph(name)
    names, left_out = [output for output, _, shape in graph.outputs if not shape], 0
    means = _training.test_means(names, _data.loss_is_total(step))
    for samples in _sets_of(step, name, inputs, data):
        left_out += samples.left_out
        for number, arrays in enumerate(samples.in_order()):
            labels, weight = samples.share(number)
            if weight > 0:
                out = graph.step(*arrays)
                means.add([float(out[each]) for each in names], labels, weight)
    if left_out:
        tell(f"{left_out} samples are in none of the figures: this graph takes full batches of {_data.batch_of(inputs)} alone")
    if means.weight == 0:
        raise InvalidError("data: there is no sample to evaluate")
    return means.figures()


def _sets_of(step, name, inputs, data):
    """The data set of a test; of a user's batches each is one, and those that fit go to the graph as they are."""
    if isinstance(data, _data.Samples):
        data.feed.verify_evaluates()
        yield data
        return
    names, size = [each for each, _, _ in inputs], _data.batch_of(inputs)
    counts_samples = size is not None and all(shape[:1] == (size,) for _, _, shape in inputs)
    more = [size or 1] * (len(step._graph(name).inputs) - len(inputs))  # how many samples of a batch are real
    shares = _Shares(step, name, inputs) if counts_samples else None
    for batch in data.in_order():
        arrays = [each.detach() if hasattr(each, "detach") else each for each in step._matched(batch, names, "the test")]
        if not counts_samples:
            yield _Whole(arrays + more, (1.0, 1.0))
        elif _data.samples_of(arrays) == size and _can_be_read(inputs, arrays):
            yield _Whole(arrays + more, shares.of(arrays))
        else:
            yield from _small_set(step, name, inputs, list(map(_on_host, arrays)))


def _small_set(step, name, inputs, arrays):
    """A batch as a data set of its own, which is filled up and whose numbers are converted; none where no label counts."""
    label, ignored = step._labels()
    labels = [array for (each, _, _), array in zip(inputs, arrays) if each == label and ignored is not None]
    if all((as_numpy(array) != ignored).any() for array in labels):
        yield _data.arrays_set(step, name, inputs, arrays, "a batch of the test")


class _Whole:
    """One batch of arrays that its graph reads where they are, and how much it counts."""

    left_out = 0

    def __init__(self, arrays, share):
        self.arrays, self._share = arrays, share

    def in_order(self):
        return [self.arrays]

    def share(self, number):
        return self._share


class _Shares:
    """How much the full batches of a test count. Of their arrays only labels are looked at, where some do not count."""

    def __init__(self, step, graph, inputs):
        self._labels, self._batch = _training.label_shares(_data.outline(step), graph), float(_data.batch_of(inputs))
        self._place = next((place for place, (name, _, _) in enumerate(inputs) if name == self._labels.input), None)
        self._input = None if self._place is None else inputs[self._place]

    def of(self, arrays):
        """The labels of a batch that are not ignored, and the sum of their weights."""
        if self._place is None:
            return self._batch, self._batch
        return self._labels.of([_data.column(_on_host(arrays[self._place]), *self._input)])


def _on_host(array):
    """An array in the host's memory, copied there where its library does that: PyTorch, or one with __array__, as JAX."""
    import numpy

    if hasattr(array, "detach"):
        return array.detach().cpu()
    return numpy.asarray(array) if hasattr(array, "__array__") else array


def _can_be_read(inputs, arrays):
    """Whether a graph reads arrays as they are. Of what only the device can read the graph says itself what it lacks."""
    for (_, dtype, shape), array in zip(inputs, arrays):
        try:
            found = as_numpy(array)
        except InvalidError:
            continue
        if found.shape != shape or not fits(found.dtype, dtype):
            return False
    return True
