"""The error of what has no form in a model file or a recipe."""

from .._core import InvalidError


class NotExpressible(InvalidError):
    """Says what was found, where, and what is possible instead."""
