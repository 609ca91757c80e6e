// Arrays of Gradus' own memory.

#include "python/extension/views.h"

#include "python/extension/dlpack.h"

#include <algorithm>

namespace gradus::python {

PyTypeObject *arrayType = nullptr;

namespace {

constexpr int kNoState = -1;

struct ArrayObject {
  PyObject_HEAD PyObject *owner; // a session, or outputs
  Tensor *tensor;
  void *data;
  int state; // kNoState: an output
  int writable;
};

PyObject *maker = nullptr;

ArrayObject *of(PyObject *self) {
  return reinterpret_cast<ArrayObject *>(self);
}

void deallocate(PyObject *self) {
  ArrayObject *array = of(self);
  if (array->state != kNoState)
    forgetView(reinterpret_cast<SessionObject *>(array->owner), array->state,
               array->writable);
  Py_XDECREF(array->owner);
  delete array->tensor;
  freeObject(array);
}

PyObject *show(PyObject *owner, Tensor tensor, void *data, int state,
               bool writable) {
  auto *array = PyObject_New(ArrayObject, arrayType);
  if (!array)
    return nullptr;
  array->tensor = new Tensor(std::move(tensor));
  array->owner = owner;
  Py_INCREF(owner);
  array->data = data;
  array->state = state;
  array->writable = writable;
  Owned made(reinterpret_cast<PyObject *>(array));
  if (state != kNoState) {
    auto *session = reinterpret_cast<SessionObject *>(owner);
    ++session->views;
    if (writable) {
      ++(*session->shown)[static_cast<size_t>(state)].views;
      ++session->writers;
    }
  }
  if (!maker)
    return made.release();
  return PyObject_CallFunctionObjArgs(maker, made.get(), nullptr);
}

constexpr const char *kReadOnly = "this array can only be read";

/// Whether a request for the order of Fortran, the first axis fastest, is of
/// memory whose last axis is fastest.
bool wantsOtherOrder(const Tensor &tensor, int flags) {
  auto wants = [&](int order) { return (flags & order) == order; };
  if (!wants(PyBUF_F_CONTIGUOUS) || wants(PyBUF_ANY_CONTIGUOUS))
    return false;
  return std::count_if(tensor.shape.begin(), tensor.shape.end(),
                       [](Py_ssize_t size) { return size != 1; }) > 1;
}

int refuseBuffer(Py_buffer *buffer, const char *words) {
  buffer->obj = nullptr;
  PyErr_SetString(PyExc_BufferError, words);
  return -1;
}

int getBuffer(PyObject *self, Py_buffer *buffer, int flags) {
  ArrayObject *array = of(self);
  Tensor &tensor = *array->tensor;
  if ((flags & PyBUF_WRITABLE) && !array->writable)
    return refuseBuffer(buffer, kReadOnly);
  if (wantsOtherOrder(tensor, flags))
    return refuseBuffer(buffer, "this array has its last axis fastest, and one "
                                "with its first axis fastest is asked for");
  bool shaped = (flags & PyBUF_ND) == PyBUF_ND;
  buffer->buf = array->data;
  buffer->obj = Py_NewRef(self);
  buffer->len = tensor.bytes;
  buffer->itemsize = sizeOf(tensor.dtype);
  buffer->readonly = !array->writable;
  buffer->ndim = shaped ? static_cast<int>(tensor.shape.size()) : 1;
  buffer->format = flags & PyBUF_FORMAT
                       ? const_cast<char *>(formatOf(tensor.dtype))
                       : nullptr;
  buffer->shape = shaped ? tensor.shape.data() : nullptr;
  buffer->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES
                        ? tensor.strides.data()
                        : nullptr;
  buffer->suboffsets = nullptr;
  buffer->internal = nullptr;
  return 0;
}

PyObject *refuseDlpack(const char *words) {
  PyErr_SetString(PyExc_BufferError, words);
  return nullptr;
}

/// __dlpack__(*, stream, max_version, dl_device, copy). The memory is the
/// host's, where streams mean nothing; the capsule is of DLPack's version 0,
/// which each consumer takes and which cannot say that memory is read-only.
PyObject *toDlpack(PyObject *self, PyObject *arguments, PyObject *keywords) {
  ArrayObject *array = of(self);
  static const char *const kNames[] = {"stream", "max_version", "dl_device",
                                       "copy", nullptr};
  PyObject *stream = nullptr, *version = nullptr, *device = Py_None,
           *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$OOOO:__dlpack__",
                                   const_cast<char **>(kNames), &stream,
                                   &version, &device, &copy))
    return nullptr;
  int type = dlpack::kCpu, number = 0;
  if (device != Py_None && !PyArg_ParseTuple(device, "ii", &type, &number))
    return nullptr;
  if (type != dlpack::kCpu)
    return refuseDlpack("this array is in the host's memory, and one on "
                        "another device is asked for");
  if (copy == Py_True)
    return refuseDlpack("this array gives its own memory, and a copy is asked "
                        "for");
  if (!array->writable)
    return refuseDlpack(kReadOnly);
  return dlpack::capsule(self, array->data, *array->tensor);
}

PyObject *device(PyObject *, PyObject *) {
  return Py_BuildValue("(ii)", dlpack::kCpu, 0);
}

PyObject *dtype(PyObject *self, void *) {
  return PyUnicode_FromString(nameOf(of(self)->tensor->dtype));
}

PyObject *name(PyObject *self, void *) {
  return toText(of(self)->tensor->name.c_str());
}

PyMethodDef methods[] = {
    {"__dlpack__",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(toDlpack)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    {"__dlpack_device__", device, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"dtype", dtype, nullptr, nullptr, nullptr},
    {"name", name, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_bf_getbuffer, reinterpret_cast<void *>(getBuffer)},
    {0, nullptr},
};

PyType_Spec spec = {"gradus._core.Array", sizeof(ArrayObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

} // namespace

bool makeArrayType() { return (arrayType = makeType(spec)) != nullptr; }

PyObject *showState(SessionObject *session, int state, Tensor tensor,
                    void *data, bool writable) {
  return show(reinterpret_cast<PyObject *>(session), std::move(tensor), data,
              state, writable);
}

PyObject *showOutput(PyObject *owner, const Tensor &tensor, void *data) {
  return show(owner, tensor, data, kNoState, true);
}

PyObject *setArrayMaker(PyObject *, PyObject *function) {
  PyObject *before = maker;
  maker = function == Py_None ? nullptr : Py_NewRef(function);
  Py_XDECREF(before);
  Py_RETURN_NONE;
}

} // namespace gradus::python
