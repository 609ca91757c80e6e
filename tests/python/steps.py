"""Compiles a model and a recipe by `gradus compile`, and runs steps through the C API. What tests of PyTorch's objects stand on."""

import ctypes
import json
import os
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.path.abspath(os.environ.get("GRADUS_BUILD") or os.path.join(ROOT, "build"))
sys.path.insert(0, os.path.join(ROOT, "python"))

TYPES = ["f4", "f8", "f2", "u2", "i1", "u1", "i4", "i8", "?", "i2", "u2", "u4", "u8"]  # in the order of gradus_dtype


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("bytes", ctypes.c_size_t)]

    def empty(self):
        import numpy

        return numpy.empty([self.shape[i] for i in range(self.rank)], TYPES[self.dtype])


class CompileError(Exception):
    """What `gradus compile` said."""


def library():
    api = ctypes.CDLL(os.path.join(BUILD, "lib", "libgradus.so"))
    api.gradus_last_error.restype = ctypes.c_char_p
    return api


class Step:
    """A compiled training step with its state. `call(inputs by name)` gives the outputs by name."""

    def __init__(self, model, recipe, folder, dims=()):
        paths = [os.path.join(folder, name) for name in ("model.onnx", "recipe.json", "step.gradus")]
        with open(paths[0], "wb") as file:
            file.write(model)
        with open(paths[1], "w") as file:
            json.dump(recipe, file)
        command = [os.path.join(BUILD, "bin", "gradus"), "compile", paths[0], "--recipe", paths[1], "-o", paths[2], "--threads", "1"]
        done = subprocess.run(command + [f"--dim={dim}" for dim in dims], capture_output=True, text=True)
        if done.returncode:
            raise CompileError(done.stderr.strip())
        self.said = done.stderr
        self.api, self.session = library(), ctypes.c_void_p()
        self.check(self.api.gradus_load(paths[2].encode(), None, ctypes.byref(self.session)))
        self.graph = self.api.gradus_find_graph(self.session, b"train")
        self.inputs = self.tensors(self.api.gradus_input, self.api.gradus_input_count)
        self.outputs = self.tensors(self.api.gradus_output, self.api.gradus_output_count)

    def check(self, status):
        if status:
            raise RuntimeError(self.api.gradus_last_error(self.session).decode())

    def tensors(self, get, count):
        found = []
        for i in range(count(self.session, self.graph)):
            found.append(Tensor())
            self.check(get(self.session, self.graph, i, ctypes.byref(found[-1])))
        return found

    def call(self, values):
        import numpy

        given = []
        for tensor in self.inputs:
            value = numpy.ascontiguousarray(values[tensor.name.decode()], TYPES[tensor.dtype])
            if value.nbytes != tensor.bytes:
                raise ValueError(f"{tensor.name.decode()} has {value.nbytes} bytes; expected {tensor.bytes}")
            given.append(value)
        made = [tensor.empty() for tensor in self.outputs]
        self.check(self.api.gradus_step(self.session, self.graph, addresses(given), addresses(made)))
        return {tensor.name.decode(): value for tensor, value in zip(self.outputs, made)}

    def state(self, name):
        number = self.api.gradus_find_state(self.session, name.encode())
        if number < 0:
            raise KeyError(name)
        tensor = Tensor()
        self.check(self.api.gradus_state(self.session, number, ctypes.byref(tensor)))
        value = tensor.empty()
        self.check(self.api.gradus_read_state(self.session, name.encode(), ctypes.c_void_p(value.ctypes.data), ctypes.c_size_t(value.nbytes)))
        return value

    def close(self):
        self.api.gradus_free(self.session)
        self.session = ctypes.c_void_p()


def addresses(arrays):
    return (ctypes.c_void_p * max(len(arrays), 1))(*[array.ctypes.data for array in arrays])
