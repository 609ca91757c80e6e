// The types, shapes and bytes of arrays; see columns.h.

#include "python/training/columns.h"

#include "python/training/values.h"

#include <algorithm>

namespace gradus::python {

Buffers::~Buffers() {
  for (Py_buffer &each : views_)
    PyBuffer_Release(&each);
}

const Py_buffer *Buffers::hold(PyObject *array) {
  Py_buffer &view = views_.emplace_back();
  if (PyObject_GetBuffer(array, &view, PyBUF_ND | PyBUF_FORMAT) == 0)
    return &view;
  views_.pop_back();
  return nullptr;
}

namespace {

/// The column that shows an array; fails where its bytes are no such numbers.
runtime::Status columnOf(const char *name, const char *dtype,
                         const Py_buffer &view, data::Column &column) {
  const auto &types = artifact::EnumValuesDType();
  auto type = std::ranges::find_if(types, [&](runtime::DType each) {
    return std::string_view(runtime::nameOf(each)) == dtype;
  });
  if (type == std::end(types))
    return runtime::invalid("input '", name, "': '", dtype,
                            "' is no type of numbers");
  column.name = name;
  column.type.dtype = *type;
  column.type.shape.assign(view.shape, view.shape + view.ndim);
  auto expected = static_cast<Py_ssize_t>(runtime::bytesOf(*type));
  if (view.itemsize != expected)
    return runtime::invalid("input '", name, "': numbers of type ", dtype,
                            " have ", expected, " bytes, found an array of ",
                            view.itemsize);
  column.bytes = {static_cast<const uint8_t *>(view.buf),
                  static_cast<size_t>(view.len)};
  return {};
}

} // namespace

bool readArrays(PyObject *list, Buffers &held,
                std::vector<data::Column> &columns) {
  Py_ssize_t count = PySequence_Size(list);
  for (Py_ssize_t i = 0; i < count; ++i) {
    Owned item(PySequence_GetItem(list, i));
    const char *name = nullptr, *dtype = nullptr;
    PyObject *array = nullptr;
    if (!item ||
        !PyArg_ParseTuple(item.get(), "ssO:array", &name, &dtype, &array))
      return false;
    const Py_buffer *view = held.hold(array);
    if (!view)
      return false;
    runtime::Status status =
        columnOf(name, dtype, *view, columns.emplace_back());
    if (!status.ok())
      return raise(status) != nullptr;
  }
  return count >= 0;
}

} // namespace gradus::python
