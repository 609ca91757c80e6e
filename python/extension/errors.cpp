// Errors of the C API as Python's exceptions.

#include "python/extension/errors.h"

#include <cstdarg>

namespace gradus::python {
namespace {

Exceptions made;

/// Makes the exception `gradus.NAME` below the bases and adds it to the module.
PyObject *add(PyObject *module, const char *name, const char *qualified,
              const char *words, PyObject *bases) {
  PyObject *type = PyErr_NewExceptionWithDoc(qualified, words, bases, nullptr);
  if (type && PyModule_AddObjectRef(module, name, type) < 0)
    Py_CLEAR(type);
  return type;
}

PyObject *typeOf(gradus_status status) {
  switch (status) {
  case GRADUS_INVALID:
    return made.invalid;
  case GRADUS_CANCELLED:
    return made.cancelled;
  default:
    return made.failed;
  }
}

} // namespace

const Exceptions &exceptions() { return made; }

bool addExceptions(PyObject *module) {
  made.error = add(module, "Error", "gradus.Error",
                   "What Gradus refuses or fails at; the text says what was "
                   "found, what was expected, and where.",
                   nullptr);
  if (!made.error)
    return false;
  Owned invalid(PyTuple_Pack(2, made.error, PyExc_ValueError));
  Owned failed(PyTuple_Pack(2, made.error, PyExc_RuntimeError));
  if (!invalid || !failed)
    return false;
  made.invalid = add(module, "InvalidError", "gradus.InvalidError",
                     "A bad argument, model, artifact, checkpoint or name.",
                     invalid.get());
  made.failed =
      add(module, "FailedError", "gradus.FailedError",
          "The machine failed: memory, disk, a library.", failed.get());
  made.cancelled =
      add(module, "CancelledError", "gradus.CancelledError",
          "Step.cancel() was called; the state is that of whole steps.",
          made.error);
  return made.invalid && made.failed && made.cancelled;
}

PyObject *raise(gradus_status status, const gradus_session *session) {
  PyErr_SetString(typeOf(status), gradus_last_error(session));
  return nullptr;
}

PyObject *raiseInvalid(const char *format, ...) {
  va_list values;
  va_start(values, format);
  PyErr_FormatV(made.invalid, format, values);
  va_end(values);
  return nullptr;
}

} // namespace gradus::python
