// The exceptions of the package, and how errors of the C API become them.

#pragma once

#include "python/extension/python.h"
#include "runtime/gradus.h"

namespace gradus::python {

/// `gradus.Error`, and below it InvalidError (also a ValueError), FailedError
/// (also a RuntimeError) and CancelledError.
struct Exceptions {
  PyObject *error = nullptr;
  PyObject *invalid = nullptr;
  PyObject *failed = nullptr;
  PyObject *cancelled = nullptr;
};

const Exceptions &exceptions();

/// Makes the exceptions and adds them to the module; false on failure.
bool addExceptions(PyObject *module);

/// A text of the C API for Python. What is not UTF-8, as a file's name may be,
/// is replaced, so that words that have it are told all the same.
PyObject *toText(const char *bytes);

/// Sets Python's error to what the last call that failed says, of the session
/// or, with nullptr, of this thread. Returns nullptr.
PyObject *raise(gradus_status status, const gradus_session *session);

/// Sets an InvalidError of these words, with PyErr_Format's placeholders.
/// Returns nullptr.
PyObject *raiseInvalid(const char *format, ...);

} // namespace gradus::python
