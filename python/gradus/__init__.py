"""Gradus: whole training steps, compiled ahead of time, from Python.

    import gradus
    step = gradus.compile("lenet.onnx", recipe="recipe.json")
    out = step(image, label)            # out.loss, out.accuracy
    step.save("lenet.gradus")

`compile` makes a `Step` of a model, `load` one of an artifact. What is slow to
import (numpy, PyTorch) is imported when it is first needed.
"""

from ._core import CancelledError, Error, FailedError, InvalidError, Outputs, Session
from ._core import version as _version
from ._errors import CompileError, CompileWarning, Diagnostic, NotExpressible
from ._step import Step, load
from ._compile import compile, inspect_ir

__version__ = _version()
__all__ = ["CancelledError", "CompileError", "CompileWarning", "Diagnostic", "Error", "FailedError", "InvalidError",
           "NotExpressible", "Outputs", "Session", "Step", "compile", "inspect_ir", "load"]
