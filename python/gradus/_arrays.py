"""Arrays of users and of the extension: numpy is imported when an array is first
asked for."""

from collections.abc import Mapping

from . import _core
from ._core import InvalidError

# What numpy calls our types. Its own types lack bf16, which is then shown as 16 bits.
NUMPY_NAMES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "uint16", "i8": "int8", "u8": "uint8",
               "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32", "i64": "int64", "u64": "uint64",
               "bool": "bool"}


def _numpy_array(array):
    """Shows an extension's array as numpy's. For bf16, the type of ml_dtypes where that is installed."""
    import numpy

    shown = numpy.asarray(array)
    if array.dtype == "bf16":
        try:
            import ml_dtypes
        except ImportError:
            return shown
        return shown.view(ml_dtypes.bfloat16)
    return shown


_core.set_array_maker(_numpy_array)


def positional(names, values, named, what):
    """The arrays of one call in the order of inputs.

    They are given by position, by keyword, or as one dictionary, tuple or list. Keys of a dictionary that are no
    inputs are refused.
    """
    if len(values) == 1 and not named:
        only = values[0]
        if isinstance(only, Mapping):
            values, named = (), only
        elif isinstance(only, (tuple, list)):
            values = only
    if not named:
        return values
    left = names[len(values):]
    unknown = [name for name in named if name not in left]
    missing = [name for name in left if name not in named]
    if unknown or missing:
        found = "; ".join(part for part in (
            unknown and "found " + ", ".join(map(repr, map(str, unknown))),
            missing and "without " + ", ".join(map(repr, missing))) if part)
        raise InvalidError(f"{what} takes the inputs {', '.join(names)}; {found}")
    return (*values, *(named[name] for name in left))


def as_numpy(value):
    """A numpy array of an array of any library, without a copy where that can be."""
    import numpy

    if isinstance(value, numpy.ndarray):
        return value
    if hasattr(value, "detach"):  # PyTorch's, which may ask for gradients
        value = value.detach()
        if value.device.type != "cpu":
            raise InvalidError(f"an array on {value.device} was found; expected one in the host's memory, as by .cpu()")
    if hasattr(value, "__dlpack__"):
        return numpy.from_dlpack(value)
    return numpy.asarray(value)


def is_array(value):
    """Whether it is one array, and no sequence of Python's."""
    return hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__") or isinstance(value, memoryview)
