"""The error of what has no form in a model file or a recipe."""


class NotExpressible(ValueError):
    """Says what was found, where, and what is possible instead."""
