"""Data sets as batches of arrays: arrays in memory, files, and iterables of the
user's, read ahead by a thread."""

import os
import queue
import threading
from collections.abc import Mapping

from . import _arrays, _safetensors
from ._arrays import NUMPY_NAMES, as_numpy, is_array
from ._core import InvalidError

ALL = slice(None)


class Arrays:
    """A data set in memory: one array for each input, whose first axes count samples."""

    def __init__(self, arrays, inputs, what):
        self.names = [name for name, _, _ in inputs]
        self.arrays = [_fitting(name, as_numpy(array), shape, dtype) for (name, dtype, shape), array in zip(inputs, arrays)]
        counts = {name: len(array) for name, array in zip(self.names, self.arrays)}
        if len(set(counts.values())) != 1:
            raise InvalidError(f"{what}: arrays have different numbers of samples: "
                               + ", ".join(f"{name} {count}" for name, count in counts.items()))
        self.samples = len(self.arrays[0])
        self.batch = inputs[0][2][0]

    @property
    def full_batches(self):
        return self.samples // self.batch

    def epoch(self, seed, number, shuffle, first=0):
        """The full batches of an epoch from number `first` on; their order is a function of seed and epoch."""
        import numpy

        order = numpy.random.default_rng([seed, number]).permutation(self.samples) if shuffle else numpy.arange(self.samples)
        for k in range(first, self.full_batches):
            rows = order[k * self.batch : (k + 1) * self.batch]
            yield tuple(array[rows] for array in self.arrays)

    def in_order(self):
        """All samples in order; the last batch may be smaller."""
        for start in range(0, self.samples, self.batch):
            yield tuple(array[start : start + self.batch] for array in self.arrays)


class Batches:
    """An iterable of batches, such as a DataLoader."""

    def __init__(self, iterable, matched, batch):
        self.iterable, self.matched, self.batch = iterable, matched, batch
        self.full_batches = self._count()

    def _count(self):
        """How many full batches there are; None: it is not known."""
        if isinstance(self.iterable, (tuple, list)):
            return sum(is_full(self.matched(batch), self.batch) for batch in self.iterable)
        size = getattr(self.iterable, "batch_size", None)
        try:
            if isinstance(size, int) and getattr(self.iterable, "drop_last", None) is False:
                return len(self.iterable.sampler) // size  # a DataLoader's length counts the rest as a batch
            return len(self.iterable)
        except (AttributeError, TypeError):
            return None

    def epoch(self, seed, number, shuffle, first=0):
        if hasattr(self.iterable, "set_epoch"):  # of a sampler or a data set of Hugging Face
            self.iterable.set_epoch(number)
        iterator = iter(self.iterable)
        while first:
            batch = next(iterator, None)
            if batch is None:
                break
            first -= is_full(self.matched(batch), self.batch)
        return iterator

    def in_order(self):
        return iter(self.iterable)


def data_set(data, step, inputs, what):
    """The data set that a user gave: a dictionary or tuple of arrays of all samples, a file (.safetensors, .npz), or an
    iterable of batches."""
    names = [name for name, _, _ in inputs]
    if isinstance(data, (str, os.PathLike)):
        return Arrays(step._matched(_file(os.fspath(data), step.recipe), names, what), inputs, os.fspath(data))
    if isinstance(data, Mapping) or (isinstance(data, tuple) and all(map(is_array, data))):
        return Arrays(step._matched(data, names, what), inputs, what)
    if not hasattr(data, "__iter__") and not hasattr(data, "__getitem__"):
        raise InvalidError(f"{what}: expected a dictionary or tuple of arrays, a file of them, or an iterable of batches; "
                           f"found {type(data).__name__}")
    return Batches(data, lambda batch: step._matched(batch, names, what), batch_of(inputs))


def _fitting(name, array, shape, dtype):
    if array.ndim != len(shape) or tuple(array.shape[1:]) != tuple(shape[1:]):
        raise InvalidError(f"input {name!r}: samples are of shape {list(array.shape[1:])}, expected {list(shape[1:])}")
    return array


def _file(path, recipe):
    """The arrays of a file, prepared as `gradus train` prepares them: pixels become numbers in [0, 1] and are normalized
    as the recipe says."""
    inputs = recipe.get("inputs") or {}
    if inputs.get("augment"):
        raise InvalidError(f"{path}: the recipe augments the data (inputs.augment), which `gradus train` does; here give an "
                           "iterable of batches that are augmented")
    if path.endswith(".npz"):
        import numpy

        arrays = dict(numpy.load(path))
    elif path.endswith(".safetensors"):
        arrays = _safetensors.read(path)
    else:
        raise InvalidError(f"{path}: a data set here is a .safetensors or .npz file; `gradus train` reads others")
    normalize = inputs.get("normalize") or {}
    return {name: _prepared(array, normalize.get(name, normalize) if isinstance(normalize, dict) else {})
            for name, array in arrays.items()}


def _prepared(array, normalize):
    import numpy

    if array.dtype == numpy.uint8 and array.ndim >= 3:
        array = array.astype(numpy.float32) / numpy.float32(255)
        if "mean" in normalize or "std" in normalize:
            shape = (-1,) + (1,) * (array.ndim - 2)
            mean = numpy.asarray(normalize.get("mean", 0), numpy.float32).reshape(shape)
            std = numpy.asarray(normalize.get("std", 1), numpy.float32).reshape(shape)
            array = (array - mean) / std
    elif array.dtype == numpy.float64:
        array = array.astype(numpy.float32)
    return array


class Prefetched:
    """Reads an iterator ahead in a thread, `ahead` items at most. The iterator itself was made by the caller's thread:
    a DataLoader forks its workers then, while no step runs."""

    _END = object()

    def __init__(self, iterator, ahead=2):
        self._queue, self._stopped = queue.Queue(ahead), threading.Event()
        self._thread = threading.Thread(target=self._read, args=(iterator,), name="gradus-prefetch", daemon=True)
        self._thread.start()

    def _read(self, iterator):
        try:
            for item in iterator:
                if not self._put((item, None)):
                    return
            self._put((self._END, None))
        except BaseException as error:  # raised where the item is asked for
            self._put((self._END, error))

    def _put(self, item):
        while not self._stopped.is_set():
            try:
                self._queue.put(item, timeout=0.1)
                return True
            except queue.Full:
                pass
        return False

    def __iter__(self):
        while True:
            item, error = self._queue.get()
            if error is not None:
                raise error
            if item is self._END:
                return
            yield item

    def close(self):
        """Ends the thread. One that waits for data of the user's is left to find the end by itself."""
        self._stopped.set()
        self._thread.join(timeout=1)


def batch_of(inputs):
    """How many samples a full batch has; None where the first input has no axis."""
    shape = inputs[0][2] if inputs else ()
    return shape[0] if shape else None


def is_full(arrays, batch):
    """Whether it is no smaller batch, as the last of an epoch may be."""
    count = samples_of(arrays)
    return batch is None or count is None or count >= batch


def samples_of(arrays):
    """How many samples a batch has: the length of its first array with an axis."""
    for array in arrays:
        shape = getattr(array, "shape", None)
        if shape:
            return int(shape[0])
    return None


def filled(arrays, inputs, batch):
    """A smaller batch filled up with zeros to `batch` samples."""
    import numpy

    made = []
    for (name, dtype, shape), array in zip(inputs, arrays):
        array = _fitting(name, as_numpy(array), shape, dtype)
        whole = numpy.zeros(shape, array.dtype)
        whole[: len(array)] = array
        made.append(whole)
    return made


def predict(graph, arrays):
    """Outputs of the graph for any number of samples."""
    import numpy

    inputs = graph.inputs
    shapes = [shape for _, _, shape in inputs]
    batch = shapes[0][0] if shapes and shapes[0] else None
    count = samples_of(arrays)
    if count == 0:
        return Predictions((name, numpy.empty((0, *shape[1:]), NUMPY_NAMES[dtype])) for name, dtype, shape in graph.outputs)
    if batch is None or count is None or count == batch or not all(shape[:1] == (batch,) for shape in shapes):
        return graph.step(*arrays)
    arrays = [_fitting(name, as_numpy(array), shape, dtype) for (name, dtype, shape), array in zip(inputs, arrays)]
    parts = {}
    for start in range(0, count, batch):
        rows = [array[start : start + batch] for array in arrays]
        real = len(rows[0])
        out = graph.step(*(rows if real == batch else filled(rows, inputs, batch)))
        for name in out:
            value = out[name]
            if numpy.ndim(value) == 0 or len(value) != batch:
                raise InvalidError(f"output {name!r} has no axis of samples: give exactly {batch} samples, found {count}")
            parts.setdefault(name, []).append(value[:real])
    return Predictions((name, numpy.concatenate(values)) for name, values in parts.items())


class Predictions(dict):
    """Outputs by name, also as attributes."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None
