// Arrays of Python as columns of a data set, without a copy.

#pragma once

#include "python/extension/python.h"
#include "training/data/dataset.h"

#include <deque>
#include <vector>

namespace gradus::python {

/// Arrays of Python that a data set reads.
class Buffers {
public:
  Buffers() = default;
  Buffers(const Buffers &) = delete;
  ~Buffers();
  /// The bytes of a dense array; nullptr with Python's error set. The shape of
  /// some lies in the buffer itself, so that it stays where it was filled in.
  const Py_buffer *hold(PyObject *array);

private:
  std::deque<Py_buffer> views_;
};

/// Reads [(name, type, array)...] as columns that show the arrays; false with
/// Python's error set.
bool readArrays(PyObject *list, Buffers &held,
                std::vector<data::Column> &columns);

} // namespace gradus::python
