"""Tracebacks and warnings that point where the user's program called the package."""

import os
import sys
import warnings

_FOLDER = os.path.dirname(__file__)


def without_own_frames(error):
    """An exception without this package's lines in its traceback: the user's stay, also those of callbacks and data sets.
    One of Python's that comes from the package itself is not expected: it keeps all, for whoever looks for its reason."""
    from ._core import Error

    frames, at = [], error.__traceback__
    while at is not None:
        frames.append(at)
        at = at.tb_next
    of_users = [each for each in frames if not _is_own(each.tb_frame)]
    expected = isinstance(error, (Error, KeyboardInterrupt, OSError, UserWarning))
    if not expected and not of_users:
        return error
    for number, each in enumerate(of_users):
        each.tb_next = of_users[number + 1] if number + 1 < len(of_users) else None
    return error.with_traceback(of_users[0] if of_users else None)


def _is_own(frame):
    return os.path.dirname(frame.f_code.co_filename) == _FOLDER


def warn(words):
    """Warns of the line of the user's program that called the package."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and _is_own(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(words, stacklevel=level)
