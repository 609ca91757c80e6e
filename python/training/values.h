// How values of the library training/ pass between its objects and Python.

#pragma once

#include "python/extension/python.h"
#include "runtime/status.h"
#include "training/metric.h"

#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace gradus::python {

/// Takes the exceptions of the package from its module `_core`; false on
/// failure.
bool findExceptions(PyObject *module);

/// Sets Python's error to a failure. Returns nullptr.
PyObject *raise(const runtime::Status &status);

/// A text for Python; what is not UTF-8 is replaced.
PyObject *toText(const std::string &bytes);
PyObject *toList(const std::vector<std::string> &texts);
/// A dictionary of figures.
PyObject *toDict(const std::vector<training::Metric> &figures);

/// Read what Python gives; false with Python's error set where it is of another
/// type. A text may be a path, or any object with __fspath__.
bool read(PyObject *object, std::string &text);
bool read(PyObject *list, std::vector<std::string> &texts);
bool read(PyObject *dictionary, std::vector<training::Metric> &figures);

/// An object of Python that owns one of C++.
template <typename Value> struct Holder {
  PyObject_HEAD Value *value;
};

template <typename Value> Value &valueOf(PyObject *self) {
  return *reinterpret_cast<Holder<Value> *>(self)->value;
}

template <typename Value>
PyObject *hold(PyTypeObject *type, std::unique_ptr<Value> value) {
  auto *holder = PyObject_New(Holder<Value>, type);
  if (!holder)
    return nullptr;
  holder->value = value.release();
  return reinterpret_cast<PyObject *>(holder);
}

template <typename Value> void drop(PyObject *self) {
  auto *holder = reinterpret_cast<Holder<Value> *>(self);
  delete holder->value;
  freeObject(holder);
}

/// Calls a function without Python's lock, which is there again where the
/// function throws. What ends a thread of Python that the interpreter does not
/// wait for is no std::exception, and passes.
template <typename Function> auto unlocked(const Function &function) {
  PyThreadState *state = PyEval_SaveThread();
  auto result = [&] {
    try {
      return function();
    } catch (const std::exception &) {
      PyEval_RestoreThread(state);
      throw;
    }
  }();
  PyEval_RestoreThread(state);
  return result;
}

/// Sets Python's error to the exception that is being handled. Returns nullptr.
PyObject *raiseCaught();

template <auto function> struct Guarded;
template <typename... Arguments, PyObject *(*function)(Arguments...)>
struct Guarded<function> {
  static PyObject *call(Arguments... arguments) {
    try {
      return function(arguments...);
    } catch (const std::exception &) {
      return raiseCaught();
    }
  }
};

/// A function as Python calls it: no exception of a library passes into Python.
template <auto function> constexpr auto guarded = &Guarded<function>::call;

/// Add the types and functions of the module; false on failure.
bool addFeeds(PyObject *module);
bool addFigures(PyObject *module);
bool addLabelShares(PyObject *module);
bool addLog(PyObject *module);
bool addReport(PyObject *module);

/// Makes a type, whose objects are of `size` bytes and freed by `deallocate`,
/// and adds it to the module; nullptr on failure.
PyTypeObject *addType(PyObject *module, const char *name, size_t size,
                      destructor deallocate, std::vector<PyType_Slot> slots);

/// Adds the type of objects that own a Value, which only the module makes.
template <typename Value, destructor deallocate = drop<Value>>
PyTypeObject *addType(PyObject *module, const char *name,
                      std::vector<PyType_Slot> slots) {
  return addType(module, name, sizeof(Holder<Value>), deallocate,
                 std::move(slots));
}

} // namespace gradus::python
