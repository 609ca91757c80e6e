// Texts, figures and errors of training/ as Python's.

#include "python/training/values.h"

#include "messages/caught.h"

namespace gradus::python {
namespace {

struct {
  PyObject *invalid = nullptr, *failed = nullptr, *cancelled = nullptr;
} exceptions;

} // namespace

bool findExceptions(PyObject *module) {
  const char *name = PyModule_GetName(module);
  if (!name)
    return false;
  std::string own = name;
  own.resize(std::min(own.rfind('.'), own.size()));
  Owned core(PyImport_ImportModule((own + "._core").c_str()));
  if (!core)
    return false;
  exceptions.invalid = PyObject_GetAttrString(core.get(), "InvalidError");
  exceptions.failed = PyObject_GetAttrString(core.get(), "FailedError");
  exceptions.cancelled = PyObject_GetAttrString(core.get(), "CancelledError");
  return exceptions.invalid && exceptions.failed && exceptions.cancelled;
}

PyObject *raise(const runtime::Status &status) {
  PyObject *type =
      status.code() == runtime::StatusCode::invalid     ? exceptions.invalid
      : status.code() == runtime::StatusCode::cancelled ? exceptions.cancelled
                                                        : exceptions.failed;
  Owned words(toText(status.message()));
  if (words)
    PyErr_SetObject(type, words.get());
  return nullptr;
}

PyObject *raiseCaught() {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    return PyErr_NoMemory();
  } catch (const std::length_error &) {
    return PyErr_NoMemory();
  } catch (const std::exception &) {
    return raise(runtime::failed(wordsOfCaught()));
  }
}

PyObject *toText(const std::string &bytes) {
  return PyUnicode_DecodeUTF8(bytes.data(),
                              static_cast<Py_ssize_t>(bytes.size()), "replace");
}

PyObject *toList(const std::vector<std::string> &texts) {
  Owned list(PyList_New(0));
  for (const std::string &each : texts) {
    Owned text(list ? toText(each) : nullptr);
    if (!text || PyList_Append(list.get(), text.get()) < 0)
      return nullptr;
  }
  return list.release();
}

PyObject *toDict(const std::vector<training::Metric> &figures) {
  Owned dictionary(PyDict_New());
  for (const training::Metric &figure : figures) {
    Owned name(dictionary ? toText(figure.name) : nullptr);
    Owned value(PyFloat_FromDouble(figure.value));
    if (!name || !value ||
        PyDict_SetItem(dictionary.get(), name.get(), value.get()) < 0)
      return nullptr;
  }
  return dictionary.release();
}

bool read(PyObject *object, std::string &text) {
  PyObject *encoded = nullptr;
  if (!PyUnicode_FSConverter(object, &encoded))
    return false;
  Owned bytes(encoded);
  text.assign(PyBytes_AsString(encoded),
              static_cast<size_t>(PyBytes_Size(encoded)));
  return true;
}

bool read(PyObject *list, std::vector<std::string> &texts) {
  Py_ssize_t count = PySequence_Size(list);
  for (Py_ssize_t i = 0; i < count; ++i) {
    Owned each(PySequence_GetItem(list, i));
    if (!each || !read(each.get(), texts.emplace_back()))
      return false;
  }
  return count >= 0;
}

bool read(PyObject *dictionary, std::vector<training::Metric> &figures) {
  Owned items(PyMapping_Items(dictionary));
  Py_ssize_t count = items ? PyList_Size(items.get()) : -1;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *item = PyList_GetItem(items.get(), i); // borrowed
    const char *name = nullptr;
    double value = 0;
    if (!PyArg_ParseTuple(item, "sd:figure", &name, &value))
      return false;
    figures.push_back({name, value});
  }
  return count >= 0;
}

PyTypeObject *addType(PyObject *module, const char *name, size_t size,
                      destructor deallocate, std::vector<PyType_Slot> slots) {
  slots.push_back({Py_tp_dealloc, reinterpret_cast<void *>(deallocate)});
  slots.push_back({0, nullptr});
  PyType_Spec spec = {name, static_cast<int>(size), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots.data()};
  PyTypeObject *type = makeType(spec);
  return type && PyModule_AddType(module, type) == 0 ? type : nullptr;
}

} // namespace gradus::python
