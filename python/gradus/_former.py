"""Logs and reports that former runs have left."""

import json
import os

from ._core import InvalidError
from ._files import verify_place

_MARK = b"gradus.report"  # in each report, page or data


def last_step_of(log):
    """The last step that a log has figures of, 0 where its lines have none; None: there is no file with bytes."""
    if not os.path.isfile(log) or os.path.getsize(log) == 0:
        return None
    last = 0
    with open(log, "rb") as file:
        for line in file:
            try:
                step = json.loads(line).get("step", 0)
            except (AttributeError, ValueError):  # no line of a log, or one that was cut: whoever opens the log says so
                continue
            last = max(last, step if isinstance(step, int) else 0)
    return last


def verify_report(path, overwrite):
    """Refuses a report where none can be written, or where a file is that is no report."""
    verify_place(path, "report")
    if overwrite or not os.path.isfile(path) or os.path.getsize(path) == 0:
        return
    with open(path, "rb") as file:
        if _MARK not in file.read():
            raise InvalidError(f"report: {path}: is there and is no report of Gradus; name another file, or replace it (overwrite=True)")
