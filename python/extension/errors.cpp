// Errors of the C API as Python's exceptions.

#include "python/extension/errors.h"

#include <algorithm>
#include <cstdarg>
#include <cstring>
#include <string>

namespace gradus::python {
namespace {

Exceptions made;

/// Makes the exception PACKAGE.NAME below the bases and adds it to the module.
/// The package is the one that the module is in, `gradus` or `gradus_runtime`:
/// there pickle looks for it.
PyObject *add(PyObject *module, const char *name, const char *words,
              PyObject *bases) {
  const char *own = PyModule_GetName(module);
  if (!own)
    return nullptr;
  std::string qualified = own;
  qualified.resize(std::min(qualified.rfind('.'), qualified.size()));
  qualified = qualified + '.' + name;
  PyObject *type =
      PyErr_NewExceptionWithDoc(qualified.c_str(), words, bases, nullptr);
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
  made.error = add(module, "Error",
                   "What Gradus refuses or fails at; the text says what was "
                   "found, what was expected, and where.",
                   nullptr);
  if (!made.error)
    return false;
  Owned invalid(PyTuple_Pack(2, made.error, PyExc_ValueError));
  Owned failed(PyTuple_Pack(2, made.error, PyExc_RuntimeError));
  if (!invalid || !failed)
    return false;
  made.invalid = add(module, "InvalidError",
                     "A bad argument, model, artifact, checkpoint or name.",
                     invalid.get());
  made.failed =
      add(module, "FailedError", "The machine failed: memory, disk, a library.",
          failed.get());
  made.cancelled =
      add(module, "CancelledError",
          "Step.cancel() was called; the state is that of whole steps.",
          made.error);
  return made.invalid && made.failed && made.cancelled;
}

PyObject *toText(const char *bytes) {
  return PyUnicode_DecodeUTF8(
      bytes, static_cast<Py_ssize_t>(std::strlen(bytes)), "replace");
}

PyObject *raise(gradus_status status, const gradus_session *session) {
  Owned words(toText(gradus_last_error(session)));
  if (words)
    PyErr_SetObject(typeOf(status), words.get());
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
