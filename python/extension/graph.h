// The types `Graph`, which runs one graph of a session, and `Outputs`, what a
// run of it gave.

#pragma once

#include "python/extension/session.h"

namespace gradus::python {

bool makeGraphTypes();

/// The session's graph of this number.
PyObject *makeGraph(SessionObject *session, int number);

} // namespace gradus::python
