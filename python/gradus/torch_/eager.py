"""Runs a module and its loss once as they are, to say in their own terms what an exporter would say in its."""

import contextlib
import os
import traceback

from .._core import Error
from .errors import NotExpressible

LEAVES_TORCH = ("it is computed outside of torch (.item(), .numpy(), .tolist()), from detached values or under no_grad; compute it by torch "
                "operations of the outputs")


def refuse_cut_loss(module, names, tensors, outputs):
    """A loss that leaves torch (`.item()`, NumPy) has no gradient, which exporters do not say."""
    import torch

    value = ran(module, names, tensors, outputs)[0]
    if not torch.is_tensor(value):
        raise NotExpressible(f"the loss is an object of {type(value).__name__}, and no tensor of torch: {LEAVES_TORCH}")
    if value.dim():
        raise NotExpressible(f"the loss has the shape {list(value.shape)}; expected one number, such as its mean")
    if not value.requires_grad:
        raise NotExpressible(f"the loss hangs on no parameter: {LEAVES_TORCH}")


def failure_of_forward(module, names, tensors, outputs):
    """What is wrong with forward() or the example, if the module does not run at all; None: it does."""
    try:
        ran(module, names, tensors, outputs)
    except NotExpressible as error:
        return error
    return None


def ran(module, names, tensors, outputs):
    """The outputs of the module. What its code raises is told with the line that raised it."""
    try:
        return module(*tensors)
    except NotExpressible:
        raise
    except Exception as error:  # It is code of anybody's.
        what = "the loss" if outputs.is_in_loss else f"forward() of {type(module).__name__}"
        given = ", ".join(f"{name} {str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}" for name, tensor in zip(names, tensors))
        raise NotExpressible(f"{what} fails in PyTorch itself, on the example ({given}){place_of(error)}: {type(error).__name__}: {error}"
                             + hint(module, names, tensors, outputs)) from None


def hint(module, names, tensors, outputs):
    """What is to be done, where the example tells it."""
    if outputs.is_in_loss:
        return "\nA loss is called with what forward() gives, and with the labels; it stays in torch, without .numpy() and .item()"
    name = wide_example(module, names, tensors)
    if name is None:
        return ""
    return f"\n{name} is float64, as numpy makes numbers, and the module's parameters are float32: give {name}.float(), or astype(\"float32\")"


def wide_example(module, names, tensors):
    """The first input that is float64 where all parameters are float32; None: there is none."""
    import torch

    if any(parameter.dtype != torch.float32 for parameter in module.parameters() if parameter.is_floating_point()):
        return None
    return next((name for name, tensor in zip(names, tensors) if tensor.dtype == torch.float64), None)


@contextlib.contextmanager
def only_refusals():
    """What anybody's code raises on the way is an error of ours; memory that is at its end is not."""
    try:
        yield
    except (Error, MemoryError):
        raise
    except Exception as error:
        raise NotExpressible(f"the module cannot be exported{place_of(error)}: {type(error).__name__}: {error}") from error


def place_of(error):
    """The last line of the user's own code that led to an error, in words."""
    import torch

    libraries = [os.path.dirname(os.path.abspath(each)) + os.sep for each in (torch.__file__, __file__)]
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(tuple(libraries))]
    return f", {os.path.basename(own[-1].filename)} line {own[-1].lineno}" if own else ""
