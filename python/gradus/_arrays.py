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


def fits(found, dtype):
    """Whether numbers of a type of numpy are taken as the extension's type `dtype`: the same, or narrower integers."""
    import numpy

    expected = numpy.dtype(NUMPY_NAMES[dtype])
    return found == expected or (found.kind in "iu" and expected.kind in "iu" and dtype != "bf16"
                                 and found.isnative and numpy.can_cast(found, expected))


def bits(value):
    """An array of ml_dtypes' bf16 as its 16 bits, which is how it is read; any other value as it is."""
    if getattr(getattr(value, "dtype", None), "name", None) == "bfloat16" and hasattr(value, "view"):
        return value.view("uint16")
    return value


def bf16_bits(values):
    """The bits of the bf16 numbers that are nearest to float32 values; of two as near, the even one."""
    import numpy

    values = numpy.asarray(values, numpy.float32, order="C")
    wide = values.view(numpy.uint32)
    rounded = (wide + (((wide >> 16) & 1) + numpy.uint32(0x7FFF))) >> 16
    return numpy.where(numpy.isnan(values), (wide >> 16) | 0x40, rounded).astype(numpy.uint16)


def as_torch(array, dtype):
    """A tensor of PyTorch that shows an array of the extension's type `dtype`."""
    import torch

    if dtype == "bf16":
        return torch.from_numpy(array.view("int16")).view(torch.bfloat16)
    return torch.from_numpy(array)


# DLPack's kinds of devices whose memory numpy reads, the host's, also where GPUs share it; and names of others.
_READABLE, _DEVICES = (1, 3, 11, 13), {2: "cuda", 10: "rocm", 12: "ext_dev"}


def as_numpy(value):
    """A numpy array of an array of any library, without a copy where that can be; of bf16, its bits."""
    import numpy

    if isinstance(value, numpy.ndarray):
        return bits(value)
    if hasattr(value, "detach"):  # PyTorch's, which may ask for gradients
        value = value.detach()
        if value.device.type != "cpu":
            raise InvalidError(f"an array on {value.device} was found; expected one in the host's memory, as by .cpu()")
        if str(value.dtype) == "torch.bfloat16":
            import torch

            return numpy.from_dlpack(value.view(torch.int16)).view(numpy.uint16)
    if hasattr(value, "__dlpack__"):
        kind, number = getattr(value, "__dlpack_device__", lambda: (1, 0))()
        if kind not in _READABLE:
            name = _DEVICES.get(kind, f"a device of DLPack's kind {int(kind)}")
            raise InvalidError(f"an array on {name}:{number} was found; expected one in the host's memory")
        return numpy.from_dlpack(value)
    return bits(numpy.asarray(value))


def is_array(value):
    """Whether it is one array, and no sequence of Python's."""
    return hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__") or isinstance(value, memoryview)
