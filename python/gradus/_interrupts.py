"""Ctrl-C where work must not be torn apart.

Python raises KeyboardInterrupt between any two of its instructions: also right
after a step has changed the state, and before the loop has counted it.
"""

import signal
import threading


class Interrupts:
    """While it is entered, in the main thread, Ctrl-C within `with interrupts.held:` waits for the end of that block. At
    any other time, and in other threads, nothing changes: who waits for data is interrupted at once."""

    def __init__(self):
        self.held = _Held()

    def __enter__(self):
        self._before = None
        if threading.current_thread() is threading.main_thread() and callable(signal.getsignal(signal.SIGINT)):
            self._before = self.held.handler = signal.getsignal(signal.SIGINT)
            signal.signal(signal.SIGINT, self.held.arrived)
        return self

    def __exit__(self, *error):
        if self._before is not None and signal.getsignal(signal.SIGINT) == self.held.arrived:
            signal.signal(signal.SIGINT, self._before)


class _Held:
    """A block that Ctrl-C does not enter."""

    def __init__(self):
        self.handler, self.inside, self.waiting = None, False, False

    def arrived(self, number, frame):
        if self.inside:
            self.waiting = True
        else:
            self.handler(number, frame)

    def __enter__(self):
        self.inside = True

    def __exit__(self, *error):
        self.inside = False
        if self.waiting:
            self.waiting = False
            self.handler(signal.SIGINT, None)
