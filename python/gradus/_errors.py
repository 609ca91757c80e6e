"""The exceptions that need more than words; the others are the extension's."""

from collections.abc import Iterable
from typing import NamedTuple

from ._core import InvalidError
from .torch_.errors import NotExpressible

__all__ = ["CompileError", "CompileWarning", "Diagnostic", "NotExpressible"]


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


class CompileWarning(UserWarning):
    """A warning of the compiler."""
