// The type `Array`: memory of a state or of an output, shown without a copy by
// the buffer protocol and DLPack.

#pragma once

#include "python/extension/session.h"

namespace gradus::python {

extern PyTypeObject *arrayType;
bool makeArrayType();

/// Shows a state of the session.
PyObject *showState(SessionObject *session, int state, Tensor tensor,
                    void *data, bool writable);

/// Shows memory that `owner` has.
PyObject *showOutput(PyObject *owner, const Tensor &tensor, void *data);

/// Module function: set_array_maker(function), which makes of an Array what
/// users get, such as numpy's; None: they get the Array.
PyObject *setArrayMaker(PyObject *, PyObject *function);

} // namespace gradus::python
