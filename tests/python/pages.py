"""Examples of pages in docs/python, which run in a folder of their own; and the losses of each step that they train."""

import contextlib
import importlib.util
import io
import logging
import os
import re
import tempfile
import unittest.mock
import warnings

from needs_torch import torch, torch_is_missing
from package import ROOT


def missing(*packages):
    """Why a page's test is skipped, in words; empty: it is not."""
    if torch is None:
        return torch_is_missing()
    absent = [name for name in packages if not importlib.util.find_spec(name)]
    return f"{', '.join(absent)}: not installed beside this Python (`./dev test --peers` installs them)" if absent else ""


def examples(page):
    with open(os.path.join(ROOT, "docs", "python", page), encoding="utf-8") as file:
        return re.findall(r"```python\n(.*?)```", file.read(), re.DOTALL)


@contextlib.contextmanager
def folder():
    """A new working folder, with the cache of compiled steps in it. What libraries say on the way is not shown."""
    before = os.getcwd()
    with contextlib.ExitStack() as stack:
        path = stack.enter_context(tempfile.TemporaryDirectory(prefix="gradus_page."))
        stack.enter_context(unittest.mock.patch.dict(os.environ, {"GRADUS_CACHE": os.path.join(path, "cache")}))
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        os.chdir(path)
        try:
            yield path
        finally:
            os.chdir(before)
            logging.disable(logging.NOTSET)


def run(example, names, seed=None):
    if seed is not None:
        torch.manual_seed(seed)
    exec(compile(example, "example of a page", "exec"), names)
    return names


class Again:
    """The batches that another trainer has drawn: each time that all of an epoch are taken, the next epoch's follow."""

    def __init__(self, batches, length):
        self.batches, self.length, self.first = batches, length, 0

    def __len__(self):
        return self.length

    def __iter__(self):
        epoch = self.batches[self.first : self.first + self.length]
        yield from (dict(batch) if isinstance(batch, dict) else batch for batch in epoch)
        self.first = (self.first + self.length) % len(self.batches)


@contextlib.contextmanager
def losses_of_fit():
    """Collects the loss of each step of Step.fit."""
    import gradus

    losses, fit = [], gradus.Step.fit

    class Watch:
        def on_step(self, number, outputs):
            losses.append(outputs.loss)

    def watched(self, data, *, callbacks=(), **options):
        given = list(callbacks) if isinstance(callbacks, (tuple, list)) else [callbacks]
        return fit(self, data, callbacks=[Watch(), *given], **options)

    with unittest.mock.patch.object(gradus.Step, "fit", watched):
        yield losses
