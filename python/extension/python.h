// Python's C API as this extension uses it: the limited one of 3.11, so that
// one binary serves 3.11 and all later versions; and an owner of references.
//
// A function that returns a PyObject * returns a new reference, or nullptr with
// Python's error set.

#pragma once

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#include <Python.h>

#include <utility>

namespace gradus::python {

/// Owns one reference; it may be to nothing.
class Owned {
public:
  Owned() = default;
  explicit Owned(PyObject *object) : object_(object) {}
  Owned(Owned &&other) noexcept : object_(other.release()) {}
  Owned &operator=(Owned &&other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() { Py_XDECREF(object_); }

  static Owned of(PyObject *borrowed) {
    Py_XINCREF(borrowed);
    return Owned(borrowed);
  }

  PyObject *get() const { return object_; }
  PyObject *release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

private:
  PyObject *object_ = nullptr;
};

/// A type made from its description; nullptr with Python's error set on
/// failure.
inline PyTypeObject *makeType(PyType_Spec &spec) {
  return reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
}

/// Frees an object of a type that makeType made.
template <typename Object> void freeObject(Object *object) {
  PyTypeObject *type = Py_TYPE(reinterpret_cast<PyObject *>(object));
  PyObject_Free(object);
  Py_DECREF(type);
}

} // namespace gradus::python
