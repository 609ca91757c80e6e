// The compiler as a function of the module.

#pragma once

#include "python/extension/python.h"

namespace gradus::python {

/// compile(options): a dictionary with the fields of gradus_compile_options
/// that are given: model and recipe and weights as (path or None, bytes or
/// None), lists of strings, strings, `threads`, `flags`. Returns (status, words
/// of the error or None, artifact or None, IR, diagnostics); the artifact is an
/// array over the compiler's memory, which it keeps, and each diagnostic
/// (severity, pass, place, text).
PyObject *compile(PyObject *, PyObject *options);

/// compiler_identity(): gradus_compiler_identity's text.
PyObject *compilerIdentity(PyObject *, PyObject *);

} // namespace gradus::python
