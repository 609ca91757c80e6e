"""Gradus: whole training steps, compiled ahead of time, from Python.

    import gradus
    step = gradus.compile("lenet.onnx", recipe="recipe.json")
    out = step(image, label)            # out.loss, out.accuracy
    step.save("lenet.gradus")

`compile` makes a `Step` of a model, `load` one of an artifact. What is slow to
import (numpy, PyTorch, the compiler) is imported when it is first needed.
"""

TYPE_CHECKING = False  # to what checks types it is True; importing typing would take longer than all the rest

if TYPE_CHECKING:
    __version__: str
    from ._compile import compile, inspect_ir
    from ._core import CancelledError, Error, FailedError, InvalidError, Outputs
    from ._errors import CompileError, CompileWarning, Diagnostic, MissingFileError, MissingStateError, NotExpressible
    from ._step import Step, load

__all__ = ["CancelledError", "CompileError", "CompileWarning", "Diagnostic", "Error", "FailedError", "InvalidError",
           "MissingFileError", "MissingStateError", "NotExpressible", "Outputs", "Step", "compile", "inspect_ir", "load"]

_MODULES = {"compile": "_compile", "inspect_ir": "_compile", "Step": "_step", "load": "_step", "CompileError": "_errors",
            "CompileWarning": "_errors", "Diagnostic": "_errors", "MissingFileError": "_errors", "MissingStateError": "_errors",
            "NotExpressible": "_errors"}


def __getattr__(name):
    from importlib import import_module

    if name == "__version__":
        value = import_module("._core", __name__).version()
    elif name in __all__:
        value = getattr(import_module("." + _MODULES.get(name, "_core"), __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return [*__all__, "__version__"]
