"""The line that shows how far training is: on stderr, rewritten, or in a notebook's cell, with a bar."""

import html
import sys
import time


class Line:
    """How far a training is; an epoch that has ended keeps its line."""

    def __init__(self, shown):
        self.shown = (sys.stderr.isatty() or _in_notebook()) if shown is None else shown
        self.writes = (_Cell() if _in_notebook() else _Terminal()) if self.shown else None
        self.last, self.stopped = 0.0, False

    def step(self, loop, figures):
        now = time.monotonic()
        if not self.shown or now - self.last < 0.1:
            return
        self.last = now
        self.show(loop, figures)

    def show(self, loop, figures, ends=""):
        of = loop.data.full_batches
        self.writes.show(f"epoch {loop.epoch + 1}/{loop.epochs}  step {loop.done}" + (f"/{of}" if of else "") + _texts(figures) + ends,
                         loop.done / of if of else None)

    def epoch(self, record, epochs):
        if self.shown:
            test = "  test" + _texts(record["test"]) if "test" in record else ""
            self.writes.show(f"epoch {record['epoch']}/{epochs}" + _texts(record["train"]) + test + f"  {record['seconds']:.1f} s", 1.0)
            self.end()

    def stop(self, loop, how):
        """Leaves where a run was ended as its last line, and not what was shown before."""
        if self.shown and not self.stopped and loop.epoch < loop.epochs:
            self.stopped = True
            self.show(loop, {}, f"  {how}")
            self.end()

    def end(self):
        if self.shown:
            self.writes.end()


class _Terminal:
    """One line of a terminal at a time."""

    def __init__(self):
        self.width = 0

    def show(self, text, part):
        sys.stderr.write("\r" + text.ljust(self.width))
        sys.stderr.flush()
        self.width = len(text)

    def end(self):
        if self.width:
            sys.stderr.write("\n")
            self.width = 0


class _Cell:
    """The output of a notebook's cell: the line of the present epoch with a bar, and those before folded up."""

    def __init__(self):
        self.lines, self.text, self.part, self.shown = [], "", None, None

    def show(self, text, part):
        self.text, self.part = text, part
        if self.shown is None:
            from IPython.display import display

            self.shown = display(self, display_id=True)
        else:
            self.shown.update(self)

    def end(self):
        if self.shown is not None and self.text:
            self.lines.append(self.text)
            self.text = ""
            self.shown.update(self)

    def __repr__(self):
        return "\n".join([*self.lines, *[self.text] * bool(self.text)])

    def _repr_html_(self):
        lines = [html.escape(line) for line in self.lines]
        last = html.escape(self.text) if self.text else lines.pop() if lines else ""
        if self.text and self.part is not None:
            last = f'<progress value="{self.part:.3f}"></progress> {last}'
        before = f"<details><summary>{len(lines)} lines before</summary><pre>" + "\n".join(lines) + "</pre></details>" if lines else ""
        return f"{before}<pre>{last}</pre>"


def _in_notebook():
    """Whether what runs is a cell of a notebook, whose display rewrites what it has shown."""
    if "ipykernel" not in sys.modules or "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def _texts(figures):
    return "".join(f"  {name} {value:.4f}" for name, value in figures.items())
