"""Data sets as batches of arrays: files and arrays, read by the library of `gradus train`, and iterables of the
user's, read ahead by a thread."""

import inspect
import os
import queue
import threading
from collections.abc import Mapping

from . import _training
from ._arrays import NUMPY_NAMES, as_numpy, is_array
from ._core import InvalidError
from ._text import utf8_json


class Samples:
    """A data set of known samples, files or arrays in memory: their order in an epoch is that of `gradus train`."""

    def __init__(self, feed, shuffle=True, columns=()):
        self.feed, self.shuffle = feed, shuffle
        self.columns = {name: array for name, _, array in columns}  # the user's arrays, where the data are some
        self._measure()

    @classmethod
    def of(cls, step, graph, source, what=None, classes=(), shuffle=True):
        columns = () if any(map(_is_path, source)) else source
        return cls(_training.feed(outline(step), graph, source, what, classes), shuffle, columns)

    def sample_of(self, name, row):
        """The number of the sample in the user's arrays that has the values `row`, some of which are not finite; None: it
        is not known. Samples may be prepared or filled up, and several may have the same values: the first one counts."""
        import numpy

        column = self.columns.get(name)
        if column is None or column.dtype.kind != "f" or column.shape[1:] != row.shape:
            return None
        place = tuple(numpy.argwhere(~numpy.isfinite(row))[0])
        for number in numpy.flatnonzero(~numpy.isfinite(column[(slice(None), *place)])):
            if numpy.array_equal(column[number].astype(row.dtype), row, equal_nan=True):
                return int(number)
        return None

    def _measure(self):
        self.samples, self.batch, self.remarks, self.classes, self.full_batches = (
            getattr(self.feed, name) for name in ("samples", "batch", "remarks", "classes", "per_epoch"))

    def hold_out(self, step, graph, part, seed):
        """The data set of a part of these samples, chosen by the seed as `gradus train --validation` does; the others stay."""
        held = Samples(self.feed.hold_out(outline(step), graph, part, seed))
        self._measure()
        return held

    def epoch(self, seed, number, first=0):
        """The batches of an epoch from number `first` on, as buffers that are valid until the next one is asked for."""
        begin = number * (self.full_batches if self.shuffle else -(-self.samples // self.batch))  # of all, as they are counted
        return self._batches(begin + first, begin + self.full_batches, seed, self.shuffle)

    @property
    def left_out(self):
        """How many samples no test uses, where its graph takes full batches alone."""
        return self.samples - self.feed.evaluated

    def share(self, number):
        """How much a batch of `in_order` counts: its labels that are not ignored, and the sum of their weights."""
        return self.feed.share(number)

    def in_order(self):
        """All samples in order; the last batch is filled up with zeros, and its input `count` says how many are real."""
        return self._batches(0, -(-self.feed.evaluated // self.batch), 0, False)

    def _batches(self, first, end, seed, shuffle):
        return self.feed.batches(first, end, seed, shuffle, len(os.sched_getaffinity(0)))


def loss_is_total(step):
    """Whether the loss is a sum over samples rather than a mean."""
    return _training.loss_is_total(outline(step))


def outline(step):
    """What of the artifact decides how data reach its graphs, as training/artifact_outline.h reads it."""
    if step._outline is None:
        indices = step.metadata("artifact.indices") or {}
        step._outline = utf8_json({
            "path": step._artifact.path or "the artifact", "recipe": step.recipe, "classes": step.metadata("artifact.classes") or 0,
            "graphs": [{"name": name, "outputs": [(*tensor, 0) for tensor in step._graph(name).outputs],
                        "inputs": [(*tensor, indices.get(name, {}).get(tensor[0], 0)) for tensor in step._graph(name).inputs]}
                       for name in step.graphs]})
    return step._outline


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

    def epoch(self, seed, number, first=0):
        """What the iterable gives from its full batch number `first` on."""
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


def data_set(data, step, graph, inputs, what, **options):
    """The data set that a user gave: files as `gradus train --data` takes them, a dictionary or tuple of arrays of all
    samples, or an iterable of batches. `inputs` are those of the graph that come from it."""
    names = [name for name, _, _ in inputs]
    _verify_form(data, names, what)
    if _is_path(data):
        return Samples.of(step, graph, [os.fspath(data)], **options)
    if isinstance(data, (tuple, list)) and data and all(map(_is_path, data)):
        return Samples.of(step, graph, list(map(os.fspath, data)), **options)
    if isinstance(data, Mapping) or is_array(data) or (isinstance(data, tuple) and data and all(map(_is_column, data))):
        return arrays_set(step, graph, inputs, step._matched(data, names, what), what, **options)
    if not hasattr(data, "__iter__") and not hasattr(data, "__getitem__"):
        raise InvalidError(f"{what}: expected files, a dictionary or tuple of arrays, or an iterable of batches; "
                           f"found {type(data).__name__}")
    return Batches(data, lambda batch: _matched(step, batch, names, what), batch_of(inputs))


def _matched(step, batch, names, what):
    """The arrays of a user's batch in the order of inputs."""
    if isinstance(batch, Mapping):
        verify_keys(batch, names, f"{what}: a batch came")
    return step._matched(batch, names, what)


def _is_column(value):
    """Whether it is an array of all samples, or one of a table of Pandas."""
    return is_array(value) or (hasattr(value, "__array__") and hasattr(value, "shape"))


def _verify_form(data, names, what):
    """Says what is meant by data that look as if they were arrays of all samples, and would be read as batches."""
    inputs = f"({', '.join(names)})"
    if is_array(data) and len(names) != 1:
        raise InvalidError(f"{what}: one array was found, expected a tuple of those of all inputs, {inputs}, or a dictionary of them")
    if isinstance(data, Mapping):
        verify_keys(data, names, what)
    if isinstance(data, list) and len(data) == len(names) > 1 and all(map(_is_column, data)):
        raise InvalidError(f"{what}: a list is taken as one of batches, and arrays were found in it: give those of all samples as a tuple, {inputs}, "
                           "or a dictionary")
    if isinstance(data, (tuple, list)) and len(data) == len(names) and all(map(_is_plain, data)):
        raise InvalidError(f"{what}: lists of numbers were found, expected arrays {inputs}: numpy.asarray makes one of each")
    if inspect.isgeneratorfunction(data) or (inspect.isroutine(data) and not hasattr(data, "__iter__")):
        raise InvalidError(f"{what}: a function was found, expected what it returns: call it. For more than one epoch give an object whose "
                           "__iter__ begins anew each time")


def verify_keys(found, names, what):
    """Refuses a dictionary that lacks an input, and says which keys it has."""
    missing = [name for name in names if name not in found]
    if missing:
        raise InvalidError(f"{what}: without {', '.join(map(repr, missing))}; the inputs are {', '.join(names)}, and the keys that were found "
                           f"are {', '.join(map(str, found)) or 'none'}")


def _is_plain(value):
    """Whether it is a list of numbers, or of such lists."""
    while isinstance(value, list) and value:
        value = value[0]
        if isinstance(value, (int, float)):
            return True
    return False


def is_used_up(data):
    """Whether it gives its batches once: a generator, and what Python makes of one."""
    return inspect.isgenerator(data) or (hasattr(data, "__next__") and type(data).__module__ in ("builtins", "itertools"))


def arrays_set(step, graph, inputs, arrays, what, **options):
    """The data set of arrays in the order of inputs."""
    return Samples.of(step, graph, [column(array, *each) for each, array in zip(inputs, arrays)], what, **options)


def _is_path(data):
    return isinstance(data, (str, os.PathLike))


def column(array, name, dtype, shape):
    """An array of all samples as (name, type, dense array)."""
    import numpy

    try:
        array = as_numpy(array)
    except InvalidError as error:
        raise InvalidError(f"input {name!r}: {error}") from None
    array = numpy.ascontiguousarray(array, array.dtype.newbyteorder("="))
    found = "bf16" if dtype == "bf16" and array.dtype == numpy.uint16 else _TYPES.get(array.dtype.name)
    if found is None:
        raise InvalidError(f"input {name!r}: expected numbers ({dtype}), found an array of {array.dtype}")
    return name, found, array


_TYPES = {kind: dtype for dtype, kind in NUMPY_NAMES.items() if dtype != "bf16"}  # numpy's word -> ours


def fitting(name, array, shape, dtype):
    if array.ndim != len(shape) or tuple(array.shape[1:]) != tuple(shape[1:]):
        raise InvalidError(f"input {name!r}: samples are of shape {list(array.shape[1:])}, expected {list(shape[1:])}")
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
        array = fitting(name, as_numpy(array), shape, dtype)
        whole = numpy.zeros(shape, array.dtype)
        whole[: len(array)] = array
        made.append(whole)
    return made
