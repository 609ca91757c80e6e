"""libgradus.so as a program has it that loads it: the calls of tests that need a process in a certain state."""

import ctypes
import os

from resumed_training import BUILD

LIBRARY = os.path.join(BUILD, "lib", "libgradus.so")


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_int), ("deterministic", ctypes.c_int), ("device", ctypes.c_char_p),
                ("log", ctypes.c_void_p), ("log_context", ctypes.c_void_p), ("trust", ctypes.c_int),
                ("collectives", ctypes.c_char_p)]


class Gradus:
    def __init__(self):
        self.library = ctypes.CDLL(LIBRARY)
        self.library.gradus_set_default_options.argtypes = [ctypes.POINTER(Options), ctypes.c_size_t]
        self.library.gradus_set_default_options.restype = None
        self.library.gradus_last_error.restype = ctypes.c_char_p
        self.library.gradus_last_error.argtypes = [ctypes.c_void_p]
        for name in ("gradus_free", "gradus_step", "gradus_find_graph", "gradus_save_checkpoint"):
            getattr(self.library, name).argtypes = {
                "gradus_free": [ctypes.c_void_p],
                "gradus_step": [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p],
                "gradus_find_graph": [ctypes.c_void_p, ctypes.c_char_p],
                "gradus_save_checkpoint": [ctypes.c_void_p, ctypes.c_char_p],
            }[name]

    def load(self, path, threads):
        session, options = ctypes.c_void_p(), Options()
        self.library.gradus_set_default_options(options, ctypes.sizeof(options))
        options.threads = threads
        if self.library.gradus_load(path.encode(), ctypes.byref(options), ctypes.byref(session)):
            raise AssertionError(self.error(None))
        return session

    def step(self, session):
        """Whether a step went well, on inputs as they lie."""
        return self.library.gradus_step(session, self.library.gradus_find_graph(session, b"train"), None, None) == 0

    def save(self, session, path):
        return self.library.gradus_save_checkpoint(session, path.encode()) == 0

    def error(self, session):
        return self.library.gradus_last_error(session).decode()

    def free(self, session):
        self.library.gradus_free(session)
