"""The exceptions that need more than words; the others are the extension's."""

import errno
from collections.abc import Iterable
from typing import NamedTuple

from ._core import InvalidError
from .torch_.errors import NotExpressible

__all__ = ["CompileError", "CompileWarning", "Diagnostic", "MissingFileError", "MissingStateError", "NotExpressible"]


class Diagnostic(NamedTuple):
    """What the compiler says: its severity ("error", "warning", "remark"), the pass that made a remark, the place in
    the model or the recipe, and the text."""

    severity: str
    pass_name: str
    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" if self.place else self.text


class CompileError(InvalidError):
    """A model or a recipe that is refused; `diagnostics` has all that the compiler said."""

    def __init__(self, words: str, diagnostics: Iterable[Diagnostic] = ()) -> None:
        super().__init__(words)
        self.diagnostics = list(diagnostics)


class MissingFileError(InvalidError, FileNotFoundError):
    """A file or a folder that is not there."""

    def __init__(self, path, words="there is no such file"):
        super().__init__(f"{path}: {words}")
        self.errno, self.strerror, self.filename = errno.ENOENT, words, path

    def __str__(self):
        return self.args[0]

    def __reduce__(self):
        return type(self), (self.filename, self.strerror)


class MissingStateError(InvalidError, KeyError):
    """A state that a step does not have."""

    def __str__(self):
        return self.args[0]


class CompileWarning(UserWarning):
    """A warning of the compiler."""
